/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What takes an action from one phase to the next: its place in the ledger, the last look at who is
 * out of service, and the cluster. What the cluster answers is action.h.
 */
#pragma once

#include "lib/base/macro.h"

struct action;
struct actor_env;

/* Go on with all that can. */
void action_step_all(const struct actor_env *env);

/* It is done: book it, without doing it again. */
void action_step_done(const struct actor_env *env, struct action *a);

/* It takes its time (ACTION_ANSWER_WAITS), and goes on until it says itself that it has failed. */
void action_step_wait(const struct actor_env *env, struct action *a);

/*
 * The last look went well, and what is known is true: what fits the budgets no more is dropped. The
 * last that was decided goes first, whichever question it waits for.
 */
void action_step_drop_unfit(const struct actor_env *env);

/*
 * What was under way when a controller ended. The node says whether it happened: done and not
 * recorded is recorded, and what the policy had only decided it decides again, or not. What a
 * person ordered goes on.
 */
void action_step_resume(const struct actor_env *env);
