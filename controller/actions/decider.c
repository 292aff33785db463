/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/decider.h"

#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/drain.h"
#include "controller/actions/effect.h"
#include "controller/actions/node_life.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"

/* Shortest interval between decisions, after a change; and the interval without changes. */
#define DECIDE_LEAST_US (50 * USEC_PER_MSEC)
#define DECIDE_EVERY_US (10 * USEC_PER_SEC)
/* Interval of checks that visit every host. */
#define SHARED_EVERY_US USEC_PER_SEC

/* A refusal that recurs after this long counts as new and is recorded again. */
#define TOLD_AGAIN_US (10 * USEC_PER_MIN)
/* Brief refusals, as while a broken watch is reconnected, are not recorded. */
#define STALE_TOLD_US USEC_PER_MIN
/* An incident on many hosts from an earlier process that was not found again for this long is
 * closed: by then every connected host has run its passive profile several times. */
#define LEFT_OPEN_US (30 * USEC_PER_MIN)

/* Check name of incidents for findings that many hosts share. */
static const char SHARED[] = "shared";

/* --- deciding --- */

static const int kinds[DECIDE_ACTIONS] = {
	[DECIDE_NOTHING] = ACT_KINDS_,	    [DECIDE_ALERT] = ACT_KINDS_,
	[DECIDE_RETEST] = ACT_RETEST,	    [DECIDE_DEEP] = ACT_RETEST,
	[DECIDE_VERIFY] = ACT_RETEST,	    [DECIDE_HOLD] = ACT_HOLD,
	[DECIDE_UNHOLD] = ACT_UNHOLD,	    [DECIDE_CORDON] = ACT_CORDON,
	[DECIDE_CORDON_DRAIN] = ACT_CORDON, [DECIDE_RELEASE] = ACT_UNCORDON,
	[DECIDE_DRAIN] = ACT_EVICT,	    [DECIDE_VERIFIED] = ACT_VERIFIED,
};

static struct action_start start_of(const struct decision *one)
{
	return (struct action_start){
		.node = one->node->name,
		.who = WHO_AUTOMATIC,
		.rule = one->rule,
		.reason = one->reason,
		.evidence = one->evidence,
		.check = one->finding ? one->finding->check : NULL,
		.subject = one->finding ? one->finding->subject : NULL,
		.partner = one->partner,
		.incident = one->finding ? one->finding->incident : 0,
		.until_us = one->action == DECIDE_HOLD ? one->until_us : 0,
		.sticky = one->sticky,
		.decision = one->action,
		.profile = one->profile,
	};
}

/* Has this refusal persisted since the last decisions, so that it is recorded already? */
static bool stood(const struct actor_env *env, uint64_t *stands_us)
{
	const uint64_t now_us = env_mono_us(env), before_us = *stands_us;

	*stands_us = now_us;
	return before_us > 0 && now_us - before_us < TOLD_AGAIN_US;
}

/* Was it recorded already? Once while decisions of this kind are refused for one reason. */
static bool is_told(const struct decider *d, const struct actor_env *env, struct node_view *host,
		    const struct decision *one)
{
	struct refusal_told *told = &host->recorded.refused[one->action];
	const int before = told->by;

	if (one->refused->by == REFUSED_BY_STALE && env_mono_us(env) - d->stale_us < STALE_TOLD_US)
		return true;
	told->by = one->refused->by;
	return stood(env, &told->stood_us) && before == told->by;
}

static void record_refused(const struct decider *d, const struct actor_env *env,
			   struct node_view *host, const struct decision *one)
{
	const struct action_start start = start_of(one);
	CLEANUP(freep) char *words = NULL;

	if (is_told(d, env, host, one))
		return;
	words = xasprintf("%s; %s", one->refused->sentence, one->refused->allow);
	if (kinds[one->action] == ACT_CORDON)
		env->counts->cordons_refused++;
	(void)action_record(env, (enum action_kind)kinds[one->action], ACTION_REFUSED, &start,
			    words);
	env->cluster->ops->event(
		env->cluster,
		&(struct cluster_event){ one->node->name, "AssayRefused", words, true });
	log_warning("refused %s node=%s: %s", decision_action_names[one->action], one->node->name,
		    words);
}

static void record_dry_run(const struct actor_env *env, struct node_view *host,
			   const struct decision *one)
{
	const struct action_start start = start_of(one);

	if (stood(env, &host->recorded.dry_run_us[one->action]))
		return;
	if (kinds[one->action] == ACT_CORDON)
		env->counts->cordons_rehearsed++;
	effect_try(env, host, (enum action_kind)kinds[one->action], &start);
	log_info("would %s node=%s: %s", decision_action_names[one->action], one->node->name,
		 one->reason);
}

static bool may_begin(const struct node_view *host, const struct decision *one)
{
	switch (kinds[one->action]) {
	case ACT_RETEST:
		return !actions_test_of(host);
	case ACT_EVICT:
		return !actions_drain_of(host) && drain_may_begin(host);
	default:
		return true;
	}
}

/* Tests are booked when ordered, drains when they begin, so that the next decision sees them. */
static bool book(const struct actor_env *env, struct node_view *host, const struct decision *one)
{
	struct life_change change;
	struct err err = ERR_INIT;

	if (policy_begun(env->fleet, one, env_real_us(env), &change, &err) < 0) {
		log_warning("not begun: %s", err.msg);
		return false;
	}
	if (change.event >= 0)
		node_life_note_change(env, one->node->name, &change);
	/*
	 * The node shows evicted jobs the reason; those waiting for their job are decided on soon.
	 */
	if (change.event == EVENT_DRAIN_BEGUN) {
		node_views_publish(env, host);
		env_news(env);
	}
	return true; /* saved with all other records at the end of the decision */
}

static void carry_out(const struct actor_env *env, struct node_view *host,
		      const struct decision *one)
{
	struct action_start start = start_of(one);
	CLEANUP(freep) char *reason = NULL;
	struct action *a;

	if (!may_begin(host, one) || !book(env, host, one))
		return;
	if (kinds[one->action] == ACT_CORDON && node_views_jobs_missing(env, host)) {
		reason = xasprintf("%s; the jobs on it are unknown, so it counts towards no job",
				   one->reason);
		start.reason = reason;
	}
	env->counts->decisions++;
	a = action_begin(env, host, (enum action_kind)kinds[one->action], &start);
	if (a)
		a->only_ask = one->only_ask;
	else if (one->born)
		one->node->record.born_us = 0;
}

/* Decide again at `mono_us` at the latest. */
static void decide_again(struct decider *d, uint64_t mono_us)
{
	if (d->again_us == 0 || mono_us < d->again_us)
		d->again_us = mono_us;
}

/* Others keep changing it: leave it alone for a while. */
static bool is_postponed(struct decider *d, const struct actor_env *env,
			 const struct node_view *host)
{
	if (host->again_us <= env_mono_us(env))
		return false;
	decide_again(d, host->again_us);
	return true;
}

static void obey(struct decider *d, const struct actor_env *env, struct node_view *host,
		 const struct decision *one)
{
	const enum policy_mode mode = (enum policy_mode)env_policy(env)->mode;

	if (actions_of(host) || kinds[one->action] == ACT_KINDS_ || is_postponed(d, env, host))
		return;
	if (mode != MODE_OBSERVE && !node_views_jobs_known(env, host, one)) {
		/* In the next step, which is soon enough for its deadline. */
		decide_again(d, env_mono_us(env));
		return;
	}
	if (one->effect)
		carry_out(env, host, one);
	else if (mode == MODE_OBSERVE)
		return;
	else if (one->refused)
		record_refused(d, env, host, one);
	else
		record_dry_run(env, host, one);
}

/* --- findings about many hosts --- */

static void tell_opened(const struct actor_env *env)
{
	const struct breaker *b = &env->places->ledger.breaker;
	const struct action_start start = { .node = "",
					    .who = WHO_AUTOMATIC,
					    .rule = breaker_cause_names[b->cause],
					    .reason = b->sentence };

	log_error("the breaker is open, no more hosts are cordoned: %s", b->sentence);
	(void)action_record(env, ACT_BREAKER_OPEN, ACTION_DONE, &start, "it is open");
	reservation_changed(env->places);
}

/* Half of a SKU's hosts cannot all be bad: its file demands too much. */
static void judge_file(const struct actor_env *env)
{
	struct breaker *b = &env->places->ledger.breaker;
	const char *sku = b->open ? NULL : env->options->wrong_file(env->options->context);
	CLEANUP(freep) char *sentence = NULL;

	if (!sku)
		return;
	sentence = xasprintf("half of the hosts of %s are far below their SKU file: fix the file, "
			     "reload, then reset the breaker",
			     sku);
	if (breaker_open(b, BREAKER_SKU_FILE, env_real_us(env), sentence))
		tell_opened(env);
}

/* Does an incident of the SKU already cover it? The key is "SKU CHECK". */
static bool told_of_sku(const struct actor_env *env, const struct notice *notice)
{
	const char *check = strrchr(notice->key, ' ');
	CLEANUP(json_freep) json_t *incidents = NULL;
	CLEANUP(freep) char *name = NULL;
	size_t i;

	if (notice->kind != NOTICE_FLEET || !check)
		return false;
	name = xasprintf("sku:%.*s", (int)(check - notice->key), notice->key);
	if (store_open_incidents(env->store, name, &incidents, NULL) < 0)
		return false;
	for (i = 0; i < json_array_size(incidents); i++) {
		const json_t *one = json_array_get(incidents, i);

		if (streq(json_string_value(json_object_get(one, "check")), check + 1))
			return true;
	}
	return false;
}

static char *incident_of(const struct notice *notice)
{
	return xasprintf("%s:%s", notice_kind_names[notice->kind], notice->key);
}

static bool notice_stands(void *context, const char *node)
{
	const struct fleet *fleet = context;
	size_t i;

	for (i = 0; i < fleet->n_notices; i++) {
		CLEANUP(freep) char *name = incident_of(&fleet->notices[i]);

		if (streq(name, node))
			return true;
	}
	return false;
}

/* Notices are not stored, so an incident that ended while no controller ran must be closed here. */
static void close_left(struct decider *d, const struct actor_env *env, uint64_t now_us)
{
	struct err err = ERR_INIT;
	int n;

	if (d->left_us == 0)
		d->left_us = now_us + LEFT_OPEN_US;
	if (now_us < d->left_us)
		return;
	n = store_close_others(env->store, SHARED, notice_stands, env->fleet, env_real_us(env),
			       &err);
	d->left_us = n < 0 ? now_us + LEFT_OPEN_US : UINT64_MAX;
	if (n < 0)
		log_warning("cannot close what hosts had in common before the start: %s", err.msg);
	else if (n > 0)
		env_commit_wanted(env);
}

/* A finding shared by a domain is an incident of its own, under "domain:NAME". */
static void tell_notice(const struct actor_env *env, const struct notice *notice)
{
	CLEANUP(freep) char *name = incident_of(notice);
	const struct store_incident incident = {
		.node = name,
		.check = SHARED,
		.subject = notice->key,
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = notice->sentence,
		.since_us = notice->since_us,
	};

	if (notice->begun && told_of_sku(env, notice))
		return;
	if (notice->begun)
		(void)store_put_incident(env->store, &incident, env_real_us(env), NULL);
	else if (notice->ended_us)
		(void)store_close_incident(env->store, name, SHARED, env_real_us(env), NULL);
	else
		return;
	env_commit_wanted(env);
}

/* --- the whole step --- */

/*
 * Counts what is out and what was cordoned, not what the decisions would do: in the modes observe
 * and dry-run none of that happens.
 */
void decider_count_budgets(const struct actor_env *env, struct actor_counts *ret)
{
	const struct policy *policy = env_policy(env);
	CLEANUP(budget_release) struct budget b = { 0 };
	const uint64_t now_us = env_real_us(env);
	const char *account;

	budget_count(&b, policy, env->fleet, &env->places->ledger.breaker, now_us);
	ret->budget_used = b.out;
	ret->budget_limit = b.total_max;
	ret->rate_used = b.cordons;
	ret->rate_limit = b.rate_max;
	ret->manual_used = manual_rate_most(&env->actions->manual, policy, now_us, &account);
	ret->manual_limit = manual_rate_limit(policy);
}

static void gauge(const struct actor_env *env, bool all)
{
	struct actor_counts *c = env->counts;
	struct coverage coverage;
	size_t i;

	if (all) {
		coverage_list(env_policy(env), env->fleet, env_real_us(env), &coverage);
		c->overdue = coverage.n;
		coverage_release(&coverage);
	}
	decider_count_budgets(env, c);
	c->cordoned = c->held = c->sticky = 0;
	for (i = 0; i < env->fleet->n; i++) {
		const struct fleet_node *n = env->fleet->nodes[i];

		c->cordoned += (n->out & OUT_OURS) != 0;
		c->held += (n->out & OUT_HOLD) != 0;
		c->sticky += n->record.life.state == LIFE_STICKY;
	}
}

static bool is_due(const struct decider *d, const struct actor_env *env, uint64_t now_us)
{
	const uint64_t since_us = now_us - d->decided_us;

	return d->decided_us == 0 || since_us >= DECIDE_EVERY_US ||
	       (since_us >= DECIDE_LEAST_US &&
		(*env->news || (d->again_us && now_us >= d->again_us))) ||
	       (d->shared_due && now_us - d->shared_us >= SHARED_EVERY_US);
}

/* Is the kill switch set? Findings made meanwhile are decided once it is released. */
static bool is_stopped(struct decider *d, const struct actor_env *env)
{
	const char *words = cluster_stopped(env->cluster);

	if (!d->stopped && words)
		log_warning("no decisions are made: %s", words);
	else if (d->stopped && !words)
		log_warning("decisions resume");
	env->counts->stopped = d->stopped = words != NULL;
	return words != NULL;
}

/* Run the checks that visit every host, but not with every decision. */
static void look_at_all(struct decider *d, const struct actor_env *env, uint64_t now_us)
{
	d->shared_due = now_us - d->shared_us < SHARED_EVERY_US;
	if (d->shared_due)
		return;
	d->shared_us = now_us;
	judge_file(env);
	admissions_deny(&d->admissions, env);
	admissions_startup(&d->admissions, env);
	node_views_forget_jobs(env);
	node_views_publish_all(env);
}

static void decide(struct decider *d, const struct actor_env *env, uint64_t now_us)
{
	struct outcome *out = &d->outcome;
	const uint64_t real_us = env_real_us(env);
	size_t i;

	policy_decide(env_policy(env), env->fleet, &env->places->ledger.breaker, real_us, out);
	if (out->again_us > real_us)
		decide_again(d, now_us + (out->again_us - real_us));
	for (i = 0; i < out->n_changes; i++)
		node_life_note_change(env, out->changes[i].node->name, &out->changes[i].change);
	if (out->opened)
		tell_opened(env);
	for (i = 0; i < out->n_notices; i++)
		tell_notice(env, &out->notices[i]);
	close_left(d, env, now_us);
	if (env->options->share)
		env->options->share(env->options->context, env->fleet);
	for (i = 0; i < out->n; i++)
		obey(d, env, node_views_need(env->views, out->items[i].node->name), &out->items[i]);
}

void decider_run(struct decider *d, const struct actor_env *env)
{
	const uint64_t now_us = env_mono_us(env);
	const bool news = *env->news;

	if (env->stage != STAGE_ACTING || is_stopped(d, env))
		return;
	if (!is_due(d, env, now_us)) {
		/*
		 * Too soon after the last decision: wake up in time rather than with the next tick.
		 */
		if (news)
			env_wake(env, d->decided_us + DECIDE_LEAST_US - now_us);
		return;
	}
	node_views_follow_policy(env);
	*env->news = false;
	d->decided_us = now_us;
	d->again_us = 0;
	look_at_all(d, env, now_us);
	decide(d, env, now_us);
	gauge(env, !news);
	node_life_keep_all(env);
	env->counts->decide_us += env_mono_us(env) - now_us;
}

void decider_release(struct decider *d, const struct actor_env *env)
{
	admissions_release(&d->admissions, env->views);
	outcome_release(&d->outcome);
	d->outcome = (struct outcome){ 0 };
	d->again_us = 0;
	d->left_us = 0; /* the notices belong to the fleet */
}
