/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects: what each kind of action does to the cluster, and what is booked once it is done. One
 * row per kind; when it is done and whether it may be is in action_step.h.
 */
#pragma once

#include <stdint.h>

#include "controller/store/store_actions.h"
#include "lib/base/macro.h"

struct action;
struct action_start;
struct actor_env;
struct node_view;

/* Does the kind (enum action_kind) have an effect on the cluster? */
bool effect_is_outside(int kind);

/* Returns why it is void since its node has changed, or NULL. Static. */
const char *effect_overtaken(const struct actor_env *env, const struct action *a);

/*
 * Send it to the cluster as it is: no record, no budget. Only for kinds with an effect on the
 * cluster. The answer is ACTOR_APPLIED, or ACTOR_TRIED for a dry run.
 */
void effect_send(const struct actor_env *env, struct action *a);

/* It is done: book it, without repeating it. Returns the message about it in new memory. */
char *effect_complete(const struct actor_env *env, struct action *a);

/* --- dry-run mode --- */

/*
 * Record what would be done, and send it to the cluster as a dry run, so that missing rights and
 * refusals by admission show up before it counts. It takes no place and does not count for the
 * rate.
 */
void effect_try(const struct actor_env *env, struct node_view *host, enum action_kind kind,
		const struct action_start *start);
