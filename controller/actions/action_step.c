/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/action_step.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/actor_queue.h"
#include "controller/actions/drain.h"
#include "controller/actions/effect.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/policy/budget.h"
#include "lib/policy/decide.h"

/* Interval at which waiting actions check the kill switch. */
#define STOPPED_US USEC_PER_SEC

void action_step_done(const struct actor_env *env, struct action *a)
{
	CLEANUP(freep) char *words = NULL;

	/* The test is ordered; the host is told below and does the rest. */
	if (a->kind == ACT_RETEST)
		a->phase = PHASE_TEST;
	words = effect_complete(env, a);
	if (a->kind != ACT_RETEST)
		action_end(env, a, ACTION_DONE, 200, words);
}

/* Actions that take a place, and the policy's, end and are decided again; the others wait. */
static void hold_back(const struct actor_env *env, struct action *a, const char *words)
{
	a->again_us = env_mono_us(env) + STOPPED_US;
	if (action_reserves(a->kind) || (action_is_by_policy(a) && a->kind != ACT_EVICT))
		action_end(env, a, ACTION_DROPPED, 409, words);
}

/* --- confirmation --- */

/*
 * Since the decision somebody else may have taken hosts out of service, and a watch reports that
 * late, or never if it hangs. So once our place stands in the ledger, the cluster is asked who is
 * out of service. Actions that no longer fit are dropped, and decided again with that knowledge.
 * One question serves all that wait when it is asked.
 */
static bool is_asked_for(const struct action *a)
{
	return action_reserves(a->kind) && !a->break_glass;
}

static bool is_confirmed(const struct actor_env *env, struct action *a)
{
	struct cluster_call call;

	if (!env->cluster->ops->confirm || !is_asked_for(a))
		return true;
	if (reservation_confirmed(env->places, &a->question))
		return true;
	if (reservation_ask(env->places)) {
		call = actor_queue_call(env->queue, ACTOR_CONFIRMED, &(struct actor_about){ 0 });
		env->cluster->ops->confirm(env->cluster, &call);
	}
	return false;
}

static void drop_unfit(const struct actor_env *env, struct action *a)
{
	static const struct actor_reply told = {
		.status = 409,
		.rule = "budget",
		.words = "more hosts are out of service than when this was decided: the budget is "
			 "used up",
		.allows = "retrying: the answer then names the budget",
	};

	/* Nobody is told about actions of the policy. */
	action_end_told(env, a, action_is_by_policy(a) ? ACTION_DROPPED : ACTION_REFUSED, &told);
}

static bool fits(const struct actor_env *env, const struct budget *budget, const struct action *a)
{
	const struct fleet_node *node = fleet_find(env->fleet, a->node);

	return !node || node_views_is_out_without(env, node) || budget_holds(budget, node);
}

void action_step_drop_unfit(const struct actor_env *env)
{
	const struct policy *policy = env_policy(env);
	const struct breaker *breaker = &env->places->ledger.breaker;
	CLEANUP(budget_release) struct budget budget = { 0 };
	struct action **waiting = xcalloc(env->actions->n + 1, sizeof(struct action *)), *a;
	size_t n = 0;

	for (a = env->actions->first; a; a = a->next) {
		if (is_asked_for(a) && a->phase <= PHASE_APPLY && !a->out)
			waiting[n++] = a;
	}
	budget_count(&budget, policy, env->fleet, breaker, env_real_us(env));
	while (n-- > 0) {
		if (fits(env, &budget, waiting[n]))
			continue;
		drop_unfit(env, waiting[n]);
		budget_count(&budget, policy, env->fleet, breaker, env_real_us(env));
	}
	free(waiting);
}

/* --- to the cluster --- */

static void apply(const struct actor_env *env, struct action *a)
{
	const char *stopped, *overtaken;

	if (!effect_is_outside(a->kind)) {
		action_step_done(env, a);
		return;
	}
	stopped = cluster_stopped(env->cluster);
	if (stopped) {
		hold_back(env, a, stopped);
		return;
	}
	overtaken = effect_overtaken(env, a);
	if (overtaken) {
		action_end(env, a, ACTION_DROPPED, 409, overtaken);
		return;
	}
	if (!is_confirmed(env, a))
		return;
	a->out = true;
	a->question = 0; /* ask again the next time */
	effect_send(env, a);
}

/* Take a place in the ledger before touching the node. */
static void reserve(const struct actor_env *env, struct action *a)
{
	const struct fleet_node *node = fleet_find(env->fleet, a->node);
	CLEANUP(freep) char *action = xasprintf("%" PRId64, a->id);
	const struct ledger_holder holder = {
		.node = a->node,
		.domain = node && node->domain != NAME_NONE
				  ? (char *)(uintptr_t)names_text(&env->fleet->domains, node->domain)
				  : NULL,
		.action = action,
		.kind = (int)action_place(a),
		.at_us = a->counted_us ? a->counted_us
				       : env_real_us(env) / USEC_PER_MSEC * USEC_PER_MSEC,
	};
	const uint64_t generation = reservation_take(env->places, &holder);

	if (generation == 0) {
		action_end(env, a, ACTION_FAILED, 409,
			   "the ledger is full: too many hosts are held");
		return;
	}
	a->phase = PHASE_RESERVE;
	a->generation = generation;
}

/* Take the place again if it is so old that another controller may have given it away. */
static bool renew(const struct actor_env *env, struct action *a)
{
	uint64_t generation =
		action_reserves(a->kind)
			? reservation_renew(env->places, a->placed_us, env_mono_us(env))
			: 0;

	if (generation == 0)
		return false;
	a->phase = PHASE_RESERVE;
	a->generation = generation;
	return true;
}

/* Was it decided on stale state? Then end it, or let it wait. */
static bool is_void(const struct actor_env *env, struct action *a)
{
	const char *stale = env->fleet->stale;

	if (!stale || !action_is_by_policy(a) || !effect_is_outside(a->kind) ||
	    a->phase > PHASE_APPLY)
		return false;
	hold_back(env, a, stale);
	return true;
}

static void step(const struct actor_env *env, struct action *a)
{
	if (a->out || !a->recorded || is_void(env, a))
		return;
	if (a->phase == PHASE_RECORD) {
		if (action_reserves(a->kind)) {
			reserve(env, a);
			return;
		}
		a->phase = PHASE_APPLY;
	}
	if (a->phase == PHASE_RESERVE &&
	    reservation_stands(env->places, a->generation, &a->placed_us))
		a->phase = PHASE_APPLY;
	if (a->phase == PHASE_APPLY && a->again_us <= env_mono_us(env) && !renew(env, a))
		apply(env, a);
}

void action_step_all(const struct actor_env *env)
{
	struct action *a, *next;

	for (a = env->stage == STAGE_ACTING ? env->actions->first : NULL; a; a = next) {
		next = a->next;
		step(env, a);
	}
}

/* --- from the cluster --- */

void action_step_wait(const struct actor_env *env, struct action *a)
{
	CLEANUP(freep) char *failed = drain_go_on(env, a);

	if (failed)
		action_end(env, a, ACTION_FAILED, 503, failed);
}

/* --- after a start --- */

/* Does the node show that it was done? */
static bool is_done(const struct action *a, const struct cluster_node *c)
{
	CLEANUP(freep) char *action = xasprintf("%" PRId64, a->id);

	switch (a->kind) {
	case ACT_CORDON:
		return c->mark && streq(c->mark->action, action);
	case ACT_UNCORDON:
		return !c->mark;
	case ACT_HOLD:
		return c->hold_us > 0;
	case ACT_UNHOLD:
		return c->hold_us == 0;
	case ACT_VERIFIED:
		return !c->unverified;
	default:
		return false;
	}
}

static void resume(const struct actor_env *env, struct action *a)
{
	const struct fleet_node *node = fleet_find(env->fleet, a->node);

	a->resumed = false;
	if (a->kind == ACT_BREAKER_RESET)
		return; /* resumes */
	if (!a->host->there || !node)
		action_end(env, a, ACTION_DROPPED, 404, "the node is gone");
	else if (a->kind == ACT_RETEST && node->record.ordered_us == 0)
		action_end(env, a, ACTION_DROPPED, 409,
			   "its result had already arrived, or it had already ended");
	else if (is_done(a, &a->host->c))
		action_step_done(env, a);
	else if (action_is_by_policy(a) && a->kind != ACT_RETEST)
		action_end(env, a, ACTION_DROPPED, 409, "the controller stopped before it was done");
}

void action_step_resume(const struct actor_env *env)
{
	struct action *a, *next;

	for (a = env->actions->first; a; a = next) {
		next = a->next;
		if (a->resumed)
			resume(env, a);
	}
}
