/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains: jobs on a host that we cordoned are asked to leave, repeatedly, until nothing is left or
 * the deadline passes. Unlike other actions a drain takes time and does not block orders by people
 * for that host meanwhile: each round first checks whether its reason still holds.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct action;
struct actor_env;
struct cluster_call;
struct err;
struct node_view;

/* Does the cluster show our cordon already? Only what it shows counts. */
bool drain_may_begin(const struct node_view *host);

/* Returns why the drain ends early, or NULL. */
const char *drain_overtaken(const struct actor_env *env, const struct action *a);

/* Run one round. */
void drain_send(const struct actor_env *env, struct action *a, const struct cluster_call *call);

/* Nothing runs there any more, or all jobs were notified. */
int drain_complete(const struct actor_env *env, struct action *a, struct err *err);

/*
 * Something is still there, as the cluster said. Returns NULL to go on, or why the drain has failed
 * (its deadline has passed), in new memory.
 */
char *drain_go_on(const struct actor_env *env, struct action *a);
