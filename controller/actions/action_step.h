/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes an action from one phase to the next: its place in the ledger, the confirmation of who is
 * out of service, and the effect on the cluster. Answers from the cluster are handled in action.h.
 */
#pragma once

#include "lib/base/macro.h"

struct action;
struct actor_env;

/* Advance all actions that can go on. */
void action_step_all(const struct actor_env *env);

/* It is done: book it, without repeating the effect. */
void action_step_done(const struct actor_env *env, struct action *a);

/* It takes time (ACTION_ANSWER_WAITS): keep waiting until it reports failure itself. */
void action_step_wait(const struct actor_env *env, struct action *a);

/*
 * The confirmation succeeded, so the state of the fleet is current: drop the actions that no longer
 * fit the budgets, the most recently decided first, whichever question they wait for.
 */
void action_step_drop_unfit(const struct actor_env *env);

/*
 * Resume the actions that were in progress when a controller stopped. The node shows whether the
 * effect took place: if so, that is recorded. What the policy had only decided is dropped and
 * decided anew; orders by people go on.
 */
void action_step_resume(const struct actor_env *env);
