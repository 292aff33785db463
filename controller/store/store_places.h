/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hosts are by what their topologies say (rail_map.h): the switch of each rail, kept beside
 * the topology when it comes, so that to find the hosts of a switch no topology is read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/pairing/pairing.h"

struct err;
struct pool;
struct store;

/* The switches of the topology `id`, which has just come: its text is topology/1. */
int store_hear(struct store *s, int64_t id, const char *text, struct err *err);

/* Of topologies of no host that went before. */
int store_forget_switches(struct store *s, struct err *err);

/*
 * The switches of the topology `digest` (NULL: none), by rail, texts in `pool`; what is there
 * already in `ret_switch` stays. 1: it names one; 0: none, or it is not known.
 */
int store_switches(struct store *s, const char *digest, struct pool *pool,
		   const char *ret_switch[PAIRING_RAILS_MAX], struct err *err);

/* Call `each` for every host, by name; `below`: its topology names the switch. */
int store_each_place(struct store *s, const char *swtch,
		     void (*each)(void *context, const char *node, bool below), void *context,
		     struct err *err);
