/* SPDX-License-Identifier: Apache-2.0 */
/* The fleet as the policy sees it, and its decisions as actions. */
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/fleet/findings.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"

/* After a change at once, but not more often than this; without one, so often. */
#define DECIDE_LEAST_US (50 * USEC_PER_MSEC)
#define DECIDE_EVERY_US (10 * USEC_PER_SEC)
/* What costs a look at every host. */
#define SHARED_EVERY_US USEC_PER_SEC

/* What is decided again after so long without it is told again: it is something new. */
#define TOLD_AGAIN_US (10 * USEC_PER_MIN)
/* What refuses for a moment only, while a watch that was cut is mended, is not told. */
#define STALE_TOLD_US USEC_PER_MIN

enum { WINDOWS_OF_NODE = 256 }; /* FINDINGS_MAX of findings.h */

/* --- findings --- */

/* The number of the open incident of a check, as evidence. New memory, or NULL. */
static char *incident_of(const json_t *incidents, const char *check)
{
	size_t i;

	for (i = 0; i < json_array_size(incidents); i++) {
		const json_t *one = json_array_get(incidents, i);

		if (streq(json_string_value(json_object_get(one, "check")), check))
			return xasprintf("incident %s",
					 json_string_value(json_object_get(one, "id")));
	}
	return NULL;
}

/* A GPU is named by its serial number in what was measured of it. */
static const char *serial_of(const char *subject)
{
	const char *gpu = strstr(subject, "gpu:GPU-");

	return gpu ? gpu + strlen("gpu:") : NULL;
}

static void note_row(struct act *act, struct fleet_node *node, const struct store_window *row,
		     const json_t *incidents)
{
	CLEANUP(freep) char *incident = incident_of(incidents, row->check);
	struct finding_news news = findings_news(row);

	news.serial = serial_of(row->subject);
	news.incident = incident;
	(void)fleet_note(&act->fleet, node, &news);
}

static bool has_row(const struct store_window *rows, int n, const struct finding *f)
{
	int i;

	for (i = 0; i < n; i++) {
		if (streq(rows[i].check, f->check) && streq(rows[i].subject, f->subject))
			return true;
	}
	return false;
}

void act_load_findings(struct act *act, const char *name)
{
	struct fleet_node *node = fleet_find(&act->fleet, name);
	CLEANUP(json_freep) json_t *incidents = NULL;
	struct store_window *rows = NULL;
	struct finding *f, *next;
	int n, i;

	n = node ? store_windows(act->options.store, name, &rows, WINDOWS_OF_NODE, NULL) : -1;
	if (n < 0)
		return;
	if (n > 0)
		(void)store_open_incidents(act->options.store, name, &incidents, NULL);
	/* One that is out of service may be due for a test, or for its release. */
	act->dirty |= n > 0 || node->findings || node->out;
	for (f = node->findings; f; f = next) {
		next = f->next;
		if (!has_row(rows, n, f))
			fleet_clear(&act->fleet, node, f);
	}
	for (i = 0; i < n; i++) {
		note_row(act, node, &rows[i], incidents);
		store_window_release(&rows[i]);
	}
	free(rows);
}

/* --- decisions --- */

static const int kinds[DECIDE_ACTIONS] = {
	[DECIDE_NOTHING] = ACT_KINDS_,	    [DECIDE_ALERT] = ACT_KINDS_,
	[DECIDE_RETEST] = ACT_RETEST,	    [DECIDE_DEEP] = ACT_RETEST,
	[DECIDE_VERIFY] = ACT_RETEST,	    [DECIDE_HOLD] = ACT_HOLD,
	[DECIDE_UNHOLD] = ACT_UNHOLD,	    [DECIDE_CORDON] = ACT_CORDON,
	[DECIDE_CORDON_DRAIN] = ACT_CORDON, [DECIDE_RELEASE] = ACT_UNCORDON,
	[DECIDE_DRAIN] = ACT_EVICT,	    [DECIDE_VERIFIED] = ACT_VERIFIED,
};

static int64_t incident_number(const struct decision *one)
{
	const char *text = one->finding ? one->finding->incident : NULL;

	return text && starts_with(text, "incident ")
		       ? strtoll(text + strlen("incident "), NULL, 10)
		       : 0;
}

static struct doing_start start_of(const struct decision *one)
{
	return (struct doing_start){
		.node = one->node->name,
		.who = WHO_AUTOMATIC,
		.rule = one->rule,
		.reason = one->reason,
		.evidence = one->evidence,
		.check = one->finding ? one->finding->check : NULL,
		.subject = one->finding ? one->finding->subject : NULL,
		.partner = one->partner,
		.incident = incident_number(one),
		.until_us = one->action == DECIDE_HOLD ? one->until_us : 0,
		.sticky = one->sticky,
		.decision = one->action,
	};
}

/* It stands: does it since the last decisions, so that it was told? */
static bool stood(struct act *act, uint64_t *stands_us)
{
	const uint64_t now_us = act_mono_us(act), before_us = *stands_us;

	*stands_us = now_us;
	return before_us > 0 && now_us - before_us < TOLD_AGAIN_US;
}

/* Once for as long as the same refuses decisions of this kind. */
static bool is_told(struct act *act, const struct decision *one)
{
	struct told_refusal *told = &act_need_host(act, one->node->name)->refused[one->action];
	const int before = told->by;

	if (one->refused->by == REFUSED_BY_STALE && act_mono_us(act) - act->stale_us < STALE_TOLD_US)
		return true;
	told->by = one->refused->by;
	return stood(act, &told->refused_us) && before == told->by;
}

static void record_refused(struct act *act, const struct decision *one)
{
	const struct doing_start start = start_of(one);
	CLEANUP(freep) char *words = NULL;

	if (is_told(act, one))
		return;
	words = xasprintf("%s; %s", one->refused->sentence, one->refused->allow);
	if (kinds[one->action] == ACT_CORDON)
		act->counts.cordons_refused++;
	(void)act_record(act, (enum action_kind)kinds[one->action], ACTION_REFUSED, &start, words);
	act->options.cluster->ops->event(
		act->options.cluster,
		&(struct cluster_event){ one->node->name, "AssayRefused", words, true });
	log_warning("refused %s node=%s: %s", decision_action_names[one->action], one->node->name,
		    words);
}

static void record_rehearsed(struct act *act, const struct decision *one)
{
	struct act_host *host = act_need_host(act, one->node->name);
	const struct doing_start start = start_of(one);

	if (stood(act, &host->rehearsed_us[one->action]))
		return;
	if (kinds[one->action] == ACT_CORDON)
		act->counts.cordons_rehearsed++;
	act_rehearse(act, (enum action_kind)kinds[one->action], &start);
	log_info("would %s node=%s: %s", decision_action_names[one->action], one->node->name,
		 one->reason);
}

/* A test is booked when it is ordered: the next decision knows of it. */
static bool book_test(struct act *act, const struct policy *policy, const struct decision *one)
{
	struct life_change change;
	struct err err = ERR_INIT;
	int r = policy_applied(policy, &act->fleet, &act->places.ledger.breaker, one,
			       act_real_us(act), &change, &err);

	if (r < 0) {
		log_warning("no test: %s", err.msg);
		return false;
	}
	if (change.event >= 0)
		act_note_change(act, one->node, &change);
	(void)act_keep_record(act, one->node, NULL);
	return true;
}

static bool may_begin(struct act *act, const struct policy *policy, const struct decision *one)
{
	switch (kinds[one->action]) {
	case ACT_RETEST:
		return !doing_test_of(act, one->node->name) && book_test(act, policy, one);
	case ACT_EVICT:
		return !doing_drain_of(act, one->node->name) && act_drain_begins(act, one);
	default:
		return true;
	}
}

static void carry_out(struct act *act, const struct policy *policy, const struct decision *one)
{
	struct doing_start start = start_of(one);
	CLEANUP(freep) char *reason = NULL;
	struct doing *d;

	if (!may_begin(act, policy, one))
		return;
	if (kinds[one->action] == ACT_CORDON && act_jobs_missing(act, one->node->name)) {
		reason = xasprintf("%s; which jobs run there is not known: it counts as in none",
				   one->reason);
		start.reason = reason;
	}
	act->counts.decisions++;
	d = doing_begin(act, (enum action_kind)kinds[one->action], &start);
	if (d)
		d->only_ask = one->only_ask;
}

/* There is something to decide at `mono_us`, whatever happens until then. */
static void decide_again(struct act *act, uint64_t mono_us)
{
	act->again_us = MIN(act->again_us ? act->again_us : UINT64_MAX, mono_us);
}

/* Somebody else changes it again and again: it is left alone for a while. */
static bool is_postponed(struct act *act, const char *node)
{
	const struct act_host *host = act_host(act, node);

	if (!host || host->again_us <= act_mono_us(act))
		return false;
	decide_again(act, host->again_us);
	return true;
}

static void obey(struct act *act, const struct policy *policy, const struct decision *one)
{
	if (doing_of(act, one->node->name) || kinds[one->action] == ACT_KINDS_ ||
	    is_postponed(act, one->node->name))
		return;
	if (policy->mode != MODE_OBSERVE && !act_jobs_known(act, one))
		return;
	if (one->effect)
		carry_out(act, policy, one);
	else if (policy->mode == MODE_OBSERVE)
		return;
	else if (one->refused)
		record_refused(act, one);
	else
		record_rehearsed(act, one);
}

static void tell_opened(struct act *act)
{
	const struct breaker *b = &act->places.ledger.breaker;
	const struct doing_start start = { .node = "",
					   .who = WHO_AUTOMATIC,
					   .rule = breaker_cause_names[b->cause],
					   .reason = b->sentence };

	log_error("the breaker is open: nothing more is taken out of service: %s", b->sentence);
	(void)act_record(act, ACT_BREAKER_OPEN, ACTION_DONE, &start, "it is open");
	reservation_changed(&act->places);
	act_ledger_flush(act);
}

/* Half of a SKU's hosts cannot all be sick: its file asks too much. */
static void judge_file(struct act *act)
{
	struct breaker *b = &act->places.ledger.breaker;
	const char *sku = b->open ? NULL : act->options.wrong_file(act->options.context);
	CLEANUP(freep) char *sentence = NULL;

	if (!sku)
		return;
	sentence = xasprintf("half of the hosts of %s are far below what its SKU file asks: mend "
			     "the file, reload, then reset the breaker",
			     sku);
	if (breaker_open(b, BREAKER_SKU_FILE, act_real_us(act), sentence))
		tell_opened(act);
}

/* Does an incident of the SKU say so already? The key is "SKU CHECK". */
static bool told_of_sku(struct act *act, const struct notice *notice)
{
	const char *check = strrchr(notice->key, ' ');
	CLEANUP(json_freep) json_t *incidents = NULL;
	CLEANUP(freep) char *name = NULL;
	size_t i;

	if (notice->kind != NOTICE_FLEET || !check)
		return false;
	name = xasprintf("sku:%.*s", (int)(check - notice->key), notice->key);
	if (store_open_incidents(act->options.store, name, &incidents, NULL) < 0)
		return false;
	for (i = 0; i < json_array_size(incidents); i++) {
		const json_t *one = json_array_get(incidents, i);

		if (streq(json_string_value(json_object_get(one, "check")), check + 1))
			return true;
	}
	return false;
}

/* A domain that shares a finding is one incident of its own, under "domain:NAME". */
static void tell_notice(struct act *act, const struct notice *notice)
{
	CLEANUP(freep)
	char *name = xasprintf("%s:%s", notice_kind_names[notice->kind], notice->key);
	const struct store_incident incident = {
		.node = name,
		.check = "shared",
		.subject = notice->key,
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = notice->sentence,
		.since_us = notice->since_us,
	};

	if (notice->begun && told_of_sku(act, notice))
		return;
	if (notice->begun)
		(void)store_put_incident(act->options.store, &incident, act_real_us(act), NULL);
	else if (notice->ended_us)
		(void)store_close_incident(act->options.store, name, "shared", act_real_us(act),
					   NULL);
	else
		return;
	act->options.touch(act->options.context);
}

/*
 * What is out and what was cordoned, not what the decisions would take: in the modes observe and
 * dry-run nothing of that comes about.
 */
void act_count_budgets(const struct act *act, struct act_counts *ret)
{
	const struct policy *policy = act->options.policy(act->options.context);
	CLEANUP(budget_release) struct budget b = { 0 };
	const uint64_t now_us = act_real_us(act);
	const char *account;

	budget_count(&b, policy, &act->fleet, &act->places.ledger.breaker, now_us);
	ret->budget_used = b.out;
	ret->budget_limit = b.total_max;
	ret->rate_used = b.cordons;
	ret->rate_limit = b.rate_max;
	ret->manual_used = manual_rate_most(&act->manual, policy, now_us, &account);
	ret->manual_limit = manual_rate_limit(policy);
}

static void gauge(struct act *act, const struct policy *policy, bool all)
{
	struct act_counts *c = &act->counts;
	struct coverage coverage;
	size_t i;

	if (all) {
		coverage_list(policy, &act->fleet, act_real_us(act), &coverage);
		c->overdue = coverage.n;
		coverage_release(&coverage);
	}
	act_count_budgets(act, c);
	c->cordoned = c->held = c->sticky = 0;
	for (i = 0; i < act->fleet.n; i++) {
		const struct fleet_node *n = act->fleet.nodes[i];

		c->cordoned += (n->out & OUT_OURS) != 0;
		c->held += (n->out & OUT_HOLD) != 0;
		c->sticky += n->record.life.state == LIFE_STICKY;
	}
}

static bool is_due(const struct act *act, uint64_t now_us)
{
	uint64_t since_us = now_us - act->decided_us;

	return act->decided_us == 0 || since_us >= DECIDE_EVERY_US ||
	       (since_us >= DECIDE_LEAST_US &&
		(act->dirty || (act->again_us && now_us >= act->again_us))) ||
	       (act->shared_due && now_us - act->shared_us >= SHARED_EVERY_US);
}

/* What is found meanwhile is decided when the switch is taken back. */
static bool is_stopped(struct act *act)
{
	const char *words = cluster_stopped(act->options.cluster);

	if (!act->stopped && words)
		log_warning("nothing is decided: %s", words);
	else if (act->stopped && !words)
		log_warning("decisions go on");
	act->counts.stopped = act->stopped = words != NULL;
	return words != NULL;
}

void act_decide(struct act *act)
{
	const struct policy *policy = act->options.policy(act->options.context);
	struct outcome *out = &act->outcome;
	const bool dirty = act->dirty;
	const uint64_t now_us = act_mono_us(act), real_us = act_real_us(act);
	size_t i;

	if (act->stage != STAGE_ACTING || is_stopped(act) || !is_due(act, now_us))
		return;
	act->dirty = false;
	act->decided_us = now_us;
	act->again_us = 0;
	act->shared_due = now_us - act->shared_us < SHARED_EVERY_US;
	if (!act->shared_due) {
		act->shared_us = now_us;
		judge_file(act);
		act_deny(act, policy);
		act_startup(act, policy);
		act_jobs_forget(act);
		act_tell_all(act);
	}
	policy_decide(policy, &act->fleet, &act->places.ledger.breaker, real_us, out);
	if (out->again_us > real_us)
		decide_again(act, now_us + (out->again_us - real_us));
	for (i = 0; i < out->n_changes; i++)
		act_note_change(act, out->changes[i].node, &out->changes[i].change);
	if (out->opened)
		tell_opened(act);
	for (i = 0; i < out->n_notices; i++)
		tell_notice(act, &out->notices[i]);
	if (act->options.share)
		act->options.share(act->options.context, &act->fleet);
	for (i = 0; i < out->n; i++)
		obey(act, policy, &out->items[i]);
	gauge(act, policy, !dirty);
	act_keep_all(act);
	act->counts.decide_us += act_mono_us(act) - now_us;
}
