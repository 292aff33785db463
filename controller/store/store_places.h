/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hosts are according to their topologies (rail_map.h): the switch of each rail, stored when
 * a topology arrives, so that finding the hosts of a switch does not read topologies.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/pairing/pairing.h"

struct err;
struct pool;
struct store;

/* Store the switches of the topology `id`, which has just arrived as topology/1 text. */
int store_hear(struct store *s, int64_t id, const char *text, struct err *err);

/* Delete those of topologies that no host has any more. */
int store_forget_switches(struct store *s, struct err *err);

/*
 * The switches of the topology `digest` (NULL: none), by rail, texts in `pool`; entries already set
 * in `ret_switch` stay. Returns 1 if it names any; 0 if not, or it is unknown.
 */
int store_switches(struct store *s, const char *digest, struct pool *pool,
		   const char *ret_switch[PAIRING_RAILS_MAX], struct err *err);

/* Call `each` for every host, by name; `below`: its topology names the switch. */
int store_each_place(struct store *s, const char *swtch,
		     void (*each)(void *context, const char *node, bool below), void *context,
		     struct err *err);
