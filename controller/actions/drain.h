/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains: what runs on a host that we cordoned is asked to leave, again and again until nothing is
 * there or the deadline has come. Unlike other actions a drain takes its time, and does not keep
 * people from the host meanwhile: each round of it asks first whether the reason for it still
 * stands.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct action;
struct actor_env;
struct cluster_call;
struct err;
struct node_view;

/* Does the cluster show our cordon? It may not yet, and what it shows is what counts. */
bool drain_may_begin(const struct node_view *host);

/* Why it is over before its end, or NULL. */
const char *drain_overtaken(const struct actor_env *env, const struct action *a);

/* One round of it. */
void drain_send(const struct actor_env *env, struct action *a, const struct cluster_call *call);

/* Nothing runs there any more, or all of it was told. */
int drain_complete(const struct actor_env *env, struct action *a, struct err *err);

/*
 * Something is still there, as the cluster said: it goes on, and NULL; or its deadline has come,
 * and why it has failed, new memory.
 */
char *drain_go_on(const struct actor_env *env, struct action *a);
