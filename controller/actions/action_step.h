/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What takes an action from one phase to the next: its place in the ledger, the last look at who is
 * out of service, the cluster and its answer, and what is tried again.
 */
#pragma once

#include "lib/base/macro.h"

struct action;
struct actor_env;
struct cluster_answer;

/* Go on with all that can. */
void action_step_all(const struct actor_env *env);

/* The answer to its effect, for which it waits (ACTOR_APPLIED). */
void action_step_applied(const struct actor_env *env, struct action *a,
			 const struct cluster_answer *answer);

/* The answer to the last look (ACTOR_CONFIRMED). */
void action_step_confirmed(const struct actor_env *env, const struct cluster_answer *answer);

/*
 * What was under way when a controller ended. The node says whether it happened: done and not
 * recorded is recorded, and what the policy had only decided it decides again, or not. What a
 * person ordered goes on.
 */
void action_step_resume(const struct actor_env *env);
