/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of people: what refuses them, and how they begin. */
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"

struct asking {
	struct act *act;
	enum action_kind kind;
	const struct act_ask *ask;
	const struct act_host *host;
	struct fleet_node *node;
	struct act_said said;
	struct refusal refusal;
};

/* False, with what is to be said. */
static bool refuse(struct asking *a, unsigned status, const char *rule, const char *words,
		   const char *allows)
{
	a->said = (struct act_said){
		.status = status, .rule = rule, .words = words, .allows = allows
	};
	return false;
}

static bool may_cordon(struct asking *a)
{
	const struct act *act = a->act;
	const struct policy *policy = act->options.policy(act->options.context);

	if (a->host->c.mark)
		return refuse(a, 409, "already", "it is out of service because of us already",
			      "assayctl uncordon first, to give it another reason");
	if (a->ask->break_glass ||
	    (budget_cordon_allowed(policy, &act->fleet, &act->places.ledger.breaker, a->node,
				   act_real_us(act), &a->refusal) &&
	     manual_rate_allows(&act->manual, policy, act_account(a->ask->who), act_real_us(act),
				&a->refusal)))
		return true;
	return refuse(a, 409, refused_by_names[a->refusal.by], a->refusal.sentence,
		      a->refusal.allow);
}

static bool may_uncordon(struct asking *a)
{
	if (a->host->c.mark || a->host->c.hold_us)
		return true;
	if (a->host->c.unschedulable)
		return refuse(a, 409, "not-ours", "it is out of service, and not because of us",
			      "lift it where it was set: we never lift another's");
	return refuse(a, 409, "already", "it is in service", NULL);
}

/* Is anything but good known of it, so that there is something to forget? */
static bool is_doubted(const struct asking *a)
{
	CLEANUP(json_freep) json_t *known = NULL;
	const char *verdict;

	if (a->node->findings)
		return true;
	if (store_node(a->act->options.store, a->node->name, act_real_us(a->act), &known, NULL) < 0)
		return false;
	verdict = json_string_value(json_object_get(known, "verdict"));
	return verdict && !streq(verdict, verdict_level_names[VERDICT_PASS]);
}

static bool may_repair(struct asking *a)
{
	const int state = a->node->record.life.state;

	if (life_next(state, EVENT_REPAIR_DONE) < 0)
		return refuse(a, 409, "state", "it is being tested",
			      "ask again when the test has ended");
	if (life_holds(state) || is_doubted(a))
		return true;
	return refuse(a, 409, "state",
		      "it is not out of service because of us, and all that is known of it is good",
		      "nothing: a host in service is tested as it is");
}

static bool may_always(struct asking *a UNUSED)
{
	return true;
}

static bool (*const may[ACT_KINDS_])(struct asking *a) = {
	[ACT_CORDON] = may_cordon,	[ACT_UNCORDON] = may_uncordon,
	[ACT_REPAIR_DONE] = may_repair, [ACT_OVERRIDE] = may_always,
	[ACT_SILENCE] = may_always,	[ACT_BREAKER_RESET] = may_always,
};

static bool check_node(struct asking *a)
{
	if (a->kind == ACT_BREAKER_RESET)
		return true;
	a->host = a->ask->node ? act_host(a->act, a->ask->node) : NULL;
	a->node = a->ask->node ? fleet_find(&a->act->fleet, a->ask->node) : NULL;
	if (!a->host || !a->host->there || !a->node)
		return refuse(a, 404, "unknown", "the cluster has no such node", NULL);
	if (!a->host->c.managed && a->kind == ACT_CORDON && !a->ask->break_glass)
		return refuse(a, 409, "managed", a->act->options.cluster->names->opted_out,
			      "taking that label off, or --break-glass");
	if (a->host->c.hands_off && a->kind == ACT_CORDON && !a->ask->break_glass)
		return refuse(a, 409, refused_by_names[REFUSED_BY_HANDS_OFF], a->host->c.hands_off,
			      "the end of that, or --break-glass");
	if (doing_of(a->act, a->ask->node))
		return refuse(a, 409, "busy", "something else is being done to it right now",
			      "asking again in a moment");
	return true;
}

static bool check(struct asking *a)
{
	const char *stopped;

	if (!may[a->kind])
		return refuse(a, 422, "kind", "that cannot be asked for", NULL);
	if (!a->ask->reason || !a->ask->reason[0])
		return refuse(a, 422, "reason", "it needs a reason", "--reason TEXT");
	if (a->act->stage == STAGE_FENCED)
		return refuse(a, 503, "fenced", "another controller has taken over",
			      "asking that one, or restarting this one");
	if (a->act->stage != STAGE_ACTING)
		return refuse(a, 503, "starting",
			      a->act->fleet.stale ? a->act->fleet.stale
						  : "the cluster is not known yet",
			      "asking again in a moment");
	stopped = kind_touches((int)a->kind) ? cluster_stopped(a->act->options.cluster) : NULL;
	if (stopped)
		return refuse(a, 409, "stopped", stopped, "taking the kill switch back");
	return check_node(a) && may[a->kind](a);
}

/* A person's uncordon is an order that holds for some time. */
static uint64_t until_of(const struct asking *a)
{
	const struct policy *policy = a->act->options.policy(a->act->options.context);

	if (a->kind == ACT_UNCORDON)
		return a->ask->until_us ? a->ask->until_us
					: act_real_us(a->act) + policy->override_us;
	return a->ask->until_us;
}

static void record_refusal(const struct asking *a, const struct doing_start *start)
{
	const bool known = a->said.status == 409;

	if (!known)
		return;
	if (a->kind == ACT_CORDON)
		a->act->counts.cordons_refused++;
	(void)act_record(a->act, a->kind, ACTION_REFUSED, start, a->said.words);
}

void act_ask(struct act *act, enum action_kind kind, const struct act_ask *ask, act_told *told,
	     void *context)
{
	struct asking a = { .act = act, .kind = kind, .ask = ask };
	struct doing_start start = {
		.node = ask->node ? ask->node : "",
		.who = ask->who,
		.reason = ask->reason,
		.break_glass = ask->break_glass,
	};
	struct doing *d;

	if (!check(&a)) {
		start.rule = a.said.rule;
		record_refusal(&a, &start);
		told(context, &a.said);
		return;
	}
	start.until_us = until_of(&a);
	if (ask->break_glass)
		log_warning("the glass is broken by=%s node=%s: %s", ask->who, start.node,
			    ask->reason);
	d = doing_begin(act, kind, &start);
	if (!d) {
		(void)refuse(&a, 503, "busy",
			     "too much is under way, or the store cannot be written",
			     "asking again in a moment");
		told(context, &a.said);
		return;
	}
	d->told = told;
	d->told_context = context;
}

void act_leave(struct act *act, const void *context)
{
	struct doing *d;

	for (d = act->doings; d; d = d->next) {
		if (d->told_context == context)
			d->told = NULL;
	}
}
