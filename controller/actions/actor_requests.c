/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/actor_requests.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/effect.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/policy/budget.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"

struct asking {
	const struct actor_env *env;
	enum action_kind kind;
	const struct actor_request *ask;
	struct node_view *host; /* known to the cluster */
	struct fleet_node *node;
	struct actor_reply said;
	struct refusal refusal;
	json_t *before; /* the action of a repeated request; or NULL */
	char *words;	/* storage for words in `said`; or NULL */
};

static void asking_release(struct asking *a)
{
	json_decref(a->before);
	free(a->words);
}

/* Set the refusal. Returns false. */
static bool refuse(struct asking *a, unsigned status, const char *rule, const char *words,
		   const char *allows)
{
	a->said = (struct actor_reply){
		.status = status, .rule = rule, .words = words, .allows = allows
	};
	return false;
}

static bool may_cordon(struct asking *a)
{
	const struct actor_env *env = a->env;
	const struct policy *policy = env_policy(env);

	if (a->host->c.mark)
		return refuse(a, 409, "already", "already cordoned by Assay",
			      "uncordon it first to record another reason");
	if (a->ask->break_glass ||
	    (budget_cordon_allowed(policy, env->fleet, &env->places->ledger.breaker, a->node,
				   env_real_us(env), &a->refusal) &&
	     manual_rate_allows(&env->actions->manual, policy, action_account(a->ask->who),
				env_real_us(env), &a->refusal)))
		return true;
	return refuse(a, 409, refused_by_names[a->refusal.by], a->refusal.sentence,
		      a->refusal.allow);
}

static bool may_uncordon(struct asking *a)
{
	if (a->host->c.mark || a->host->c.hold_us)
		return true;
	if (a->host->c.unschedulable)
		return refuse(a, 409, "not-ours", "cordoned by someone else",
			      "lift it where it was set: Assay never lifts another owner's cordon");
	return refuse(a, 409, "already", "already in service", NULL);
}

/* Is there anything to forget: a finding, or a verdict other than pass? */
static bool is_doubted(const struct asking *a)
{
	CLEANUP(json_freep) json_t *known = NULL;
	const char *verdict;

	if (a->node->findings)
		return true;
	if (store_node(a->env->store, a->node->name, env_real_us(a->env), &known, NULL) < 0)
		return false;
	verdict = json_string_value(json_object_get(known, "verdict"));
	return verdict && !streq(verdict, verdict_level_names[VERDICT_PASS]);
}

static bool may_repair(struct asking *a)
{
	const int state = a->node->record.life.state;

	if (life_next(state, EVENT_REPAIR_DONE) < 0)
		return refuse(a, 409, "state", "a test of this host is running",
			      "ask again when the test is over");
	if (life_holds(state) || is_doubted(a))
		return true;
	return refuse(a, 409, "state", "not cordoned by Assay, and nothing is wrong with it",
		      "nothing: hosts in service are tested anyway");
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

/* Returns who brought it into its current state, if recorded. New memory. */
static char *who_changed(const struct asking *a)
{
	const struct life *life = &a->node->record.life;
	const struct store_range newest = { NULL, 1 };
	CLEANUP(json_freep) json_t *since = json_stamp(life->since_us);
	struct store_page page = { 0 };
	const json_t *last = NULL;
	const char *by;
	char *words;

	if (store_transitions(a->env->store, a->node->name, &newest, &page, NULL) == 0)
		last = json_array_get(page.items, 0);
	by = json_string_value(json_object_get(last, "by"));
	words = xasprintf("has changed in the meantime: %s since %s%s%s",
			  life_state_names[life->state],
			  json_is_string(since) ? json_string_value(since) : "long ago",
			  by ? ", by " : "", by ? by : "");
	json_decref(page.items);
	free(page.next);
	return words;
}

static bool is_as_seen(struct asking *a)
{
	const uint64_t since_us = a->node->record.life.since_us;

	if (!a->ask->if_since || since_us / USEC_PER_MSEC == a->ask->since_us / USEC_PER_MSEC)
		return true;
	a->words = who_changed(a);
	return refuse(a, 409, "changed", a->words, "looking at it again before asking once more");
}

static bool check_node(struct asking *a)
{
	if (a->kind == ACT_BREAKER_RESET)
		return true;
	a->host = a->ask->node ? node_views_there(a->env->views, a->ask->node) : NULL;
	a->node = a->ask->node ? fleet_find(a->env->fleet, a->ask->node) : NULL;
	if (!a->host || !a->node)
		return refuse(a, 404, "unknown", "the cluster has no such node", NULL);
	if (!is_as_seen(a))
		return false;
	if (!a->host->c.managed && a->kind == ACT_CORDON && !a->ask->break_glass)
		return refuse(a, 409, "managed", a->env->cluster->names->opted_out,
			      "removing that label, or --break-glass");
	if (a->host->c.hands_off && a->kind == ACT_CORDON && !a->ask->break_glass)
		return refuse(a, 409, refused_by_names[REFUSED_BY_HANDS_OFF], a->host->c.hands_off,
			      "waiting until that ends, or --break-glass");
	if (actions_of(a->host))
		return refuse(a, 409, "busy", "another action on it is in progress",
			      "trying again in a moment");
	return true;
}

static bool check(struct asking *a)
{
	const char *stopped;

	if (!may[a->kind])
		return refuse(a, 422, "kind", "no such request", NULL);
	if (!a->ask->reason || !a->ask->reason[0])
		return refuse(a, 422, "reason", "a reason is required", "--reason TEXT");
	if (a->env->stage == STAGE_FENCED)
		return refuse(a, 503, "fenced", "another controller has taken over",
			      "asking that one, or restarting this one");
	if (a->env->stage != STAGE_ACTING)
		return refuse(a, 503, "starting",
			      a->env->fleet->stale ? a->env->fleet->stale
						   : "the nodes of the cluster are not known yet",
			      "trying again in a moment");
	stopped = effect_is_outside((int)a->kind) ? cluster_stopped(a->env->cluster) : NULL;
	if (stopped)
		return refuse(a, 409, "stopped", stopped, "releasing the kill switch");
	return check_node(a) && may[a->kind](a);
}

/* An uncordon by a person keeps the host in service for some time. */
static uint64_t until_of(const struct asking *a)
{
	const struct policy *policy = env_policy(a->env);

	if (a->kind == ACT_UNCORDON)
		return a->ask->until_us ? a->ask->until_us
					: env_real_us(a->env) + policy->override_us;
	return a->ask->until_us;
}

/* Answer a dry run. */
static void rehearse(const struct asking *a, actor_reply_fn *reply, void *context)
{
	static const char *const words[ACT_KINDS_] = {
		[ACT_CORDON] = "would be cordoned",
		[ACT_UNCORDON] = "would be back in service",
		[ACT_REPAIR_DONE] = "would be taken as repaired",
		[ACT_OVERRIDE] = "would be kept in service",
		[ACT_SILENCE] = "would be silenced",
		[ACT_BREAKER_RESET] = "the breaker would be closed",
	};
	static const char *const ends[ACT_KINDS_] = {
		[ACT_OVERRIDE] = "the override would end",
		[ACT_SILENCE] = "the silence would end",
	};
	const bool ended = !a->ask->until_us && ends[a->kind];
	const struct actor_reply said = { .status = 200,
					  .words = ended ? ends[a->kind] : words[a->kind] };

	reply(context, &said);
}

static void record_refusal(const struct asking *a, const struct action_start *start)
{
	const bool known = a->said.status == 409;

	if (!known)
		return;
	if (a->kind == ACT_CORDON)
		a->env->counts->cordons_refused++;
	(void)action_record(a->env, a->kind, ACTION_REFUSED, start, a->said.words);
}

/* Answer with the outcome of the first request. */
static void say_again(struct asking *a)
{
	const char *state = json_string_value(json_object_get(a->before, "state"));
	const char *kind = json_string_value(json_object_get(a->before, "action"));
	const char *result = json_string_value(json_object_get(a->before, "result"));
	const char *number = json_string_value(json_object_get(a->before, "id"));
	const bool over = !streq(state, action_state_names[ACTION_DECIDED]);
	const bool good = !over || streq(state, action_state_names[ACTION_DONE]) ||
			  streq(state, action_state_names[ACTION_DRY_RUN]);

	if (!streq(kind, action_kind_names[a->kind]) ||
	    !streq(json_string_value(json_object_get(a->before, "by")), a->ask->who)) {
		(void)refuse(a, 409, "key", "another request had this key", "a new key");
		return;
	}
	(void)refuse(a, good ? 200 : 409, json_string_value(json_object_get(a->before, "rule")),
		     over && result ? result : "it was already requested and is in progress", NULL);
	a->said.action = number ? strtoll(number, NULL, 10) : 0;
}

/* Is the request a repetition, or can that not be determined? Then the answer is set. */
static bool came_before(struct asking *a)
{
	const char *node = a->ask->node ? a->ask->node : "";
	int r;

	if (!a->ask->key || a->ask->dry_run)
		return false;
	r = store_action_of_key(a->env->store, node, a->ask->key, &a->before, NULL);
	if (r == -ENOENT)
		return false;
	if (r < 0)
		(void)refuse(a, 503, "busy", "the store cannot be read", "trying again in a moment");
	else
		say_again(a);
	return true;
}

void actor_ask(struct actor *actor, enum action_kind kind, const struct actor_request *request,
	       actor_reply_fn *reply, void *context)
{
	CLEANUP(asking_release)
	struct asking a = { .env = actor_env(actor), .kind = kind, .ask = request };
	struct action_start start = {
		.node = request->node ? request->node : "",
		.who = request->who,
		.reason = request->reason,
		.break_glass = request->break_glass,
		.key = request->key,
	};
	struct action *action;

	if (came_before(&a)) {
		reply(context, &a.said);
		return;
	}
	node_views_follow_policy(a.env); /* for the budgets it is checked against */
	if (!check(&a)) {
		start.rule = a.said.rule;
		if (!request->dry_run)
			record_refusal(&a, &start);
		reply(context, &a.said);
		return;
	}
	if (request->dry_run) {
		rehearse(&a, reply, context);
		return;
	}
	start.until_us = until_of(&a);
	if (request->break_glass)
		log_warning("break-glass cordon by=%s node=%s: %s", request->who, start.node,
			    request->reason);
	action = action_begin(a.env, a.host, kind, &start);
	if (!action) {
		(void)refuse(&a, 503, "busy",
			     "too many actions are in progress, or the store cannot be written",
			     "trying again in a moment");
		reply(context, &a.said);
		return;
	}
	action->reply = reply;
	action->reply_context = context;
}

void actor_leave(struct actor *actor, const void *context)
{
	actions_forget_asker(actor_env(actor)->actions, context);
}
