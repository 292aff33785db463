/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/policy/decide_cordon.h"
#include "lib/policy/decide_drain.h"
#include "lib/policy/decide_inside.h"
#include "lib/policy/decide_shared.h"
#include "lib/policy/fleet_jobs.h"
#include "lib/report/report.h"

const char *const decision_action_names[] = {
	[DECIDE_NOTHING] = "nothing",
	[DECIDE_ALERT] = "alert",
	[DECIDE_RETEST] = "retest",
	[DECIDE_DEEP] = "deep",
	[DECIDE_VERIFY] = "verify",
	[DECIDE_HOLD] = "hold",
	[DECIDE_UNHOLD] = "unhold",
	[DECIDE_CORDON] = "cordon",
	[DECIDE_CORDON_DRAIN] = "cordon+drain",
	[DECIDE_RELEASE] = "release",
	[DECIDE_DRAIN] = "drain",
	[DECIDE_VERIFIED] = "verified",
	NULL,
};

/* ---- from findings to candidates -------------------------------------------- */

static const struct policy_rule *rule_of(const struct deciding *d, const struct fleet_node *node,
					 const struct finding *finding)
{
	const struct policy_subject subject = {
		.check = finding->check,
		.locality = finding->locality,
		.sku = names_text(&d->fleet->skus, node->sku),
		.severity = severity_names[finding->severity],
		.code = finding->code,
	};

	return policy_match(d->policy, &subject);
}

static bool is_reached(const struct finding *finding, const struct policy_rule *rule)
{
	const unsigned n = (unsigned)MIN(rule->n, (uint64_t)WINDOWS_MAX);

	/* A fatal finding is over after its good runs, though it may stay listed for longer. */
	return windows_reached(&finding->windows,
			       finding->severity == SEVERITY_FATAL
				       ? 1
				       : (unsigned)MIN(rule->k, (uint64_t)WINDOWS_MAX),
			       n);
}

/* A value that is too good to be true is reported too, but nothing is done to the host. */
static bool is_born_part(const struct candidate *c)
{
	return streq(c->finding->code, FINDING_IMPOSSIBLE) ||
	       (!c->fatal && fleet_is_born_part(c->finding));
}

static void add_candidate(struct outcome *out, const struct candidate *c)
{
	if (out->n_candidates == out->room_candidates) {
		out->room_candidates = MAX(out->room_candidates * 2, (size_t)32);
		out->candidates =
			xrealloc(out->candidates, out->room_candidates, sizeof(*out->candidates));
	}
	out->candidates[out->n_candidates++] = *c;
}

/* True if something on the node is reached. */
static bool collect_node(struct deciding *d, struct fleet_node *node)
{
	struct finding *finding, *next;
	bool any = false;

	for (finding = node->findings; finding; finding = next) {
		struct candidate c = { .node = node, .finding = finding };

		next = finding->next;
		finding->shared = false;
		if (finding->windows.n == 0) {
			if (deciding_past(d->now_us, finding->tested_us,
					  d->policy->sticky_window_us))
				fleet_drop_finding(node, finding);
			continue;
		}
		c.rule = rule_of(d, node, finding);
		if (!c.rule || c.rule->action == ACTION_OBSERVE || !is_reached(finding, c.rule)) {
			finding->reached_us = finding->asks_us = 0;
			c.suspect = true;
			if (!c.rule || c.rule->action == ACTION_OBSERVE ||
			    windows_bad(&finding->windows, (unsigned)c.rule->n) == 0)
				continue;
		} else if (finding->reached_us == 0) {
			finding->reached_us = d->now_us;
		}
		any |= !c.suspect;
		/* No longer evidence, but no proof that the host is healthy either. */
		if (finding->seen_us < d->breaker->reset_us)
			continue;
		c.fatal = finding->severity == SEVERITY_FATAL;
		c.born = is_born_part(&c);
		add_candidate(d->out, &c);
	}
	return any;
}

static void collect(struct deciding *d)
{
	size_t i;

	for (i = 0; i < d->fleet->n; i++) {
		struct fleet_node *node = d->fleet->nodes[i];
		struct node_record *record = &node->record;

		fleet_jobs_note(d->fleet, node, d->now_us);
		if (node->findings && collect_node(d, node))
			record->clear_us = 0;
		else if (record->clear_us == 0)
			record->clear_us = d->now_us;
		if (record->clear_us > 0 && !life_holds(record->life.state))
			record->wanted_us = 0;
		if (deciding_past(d->now_us, record->born_us, d->policy->jobs.born_per_us))
			record->born_us = 0;
	}
}

/* ---- the breaker ------------------------------------------------------------ */

enum { SILENT_MIN = 3 }; /* two silent hosts are two hosts */

static bool counts_for_silence(const struct deciding *d, const struct fleet_node *node)
{
	return node->managed && node->reported_us > 0 &&
	       !(node->out & (OUT_NOT_READY | OUT_OTHERS)) &&
	       node->record.silence_until_us <= d->now_us;
}

static void check_silence(struct deciding *d)
{
	const struct policy *p = d->policy;
	size_t known = 0, silent = 0, i;

	for (i = 0; i < d->fleet->n; i++) {
		const struct fleet_node *node = d->fleet->nodes[i];

		if (!counts_for_silence(d, node))
			continue;
		known++;
		silent += deciding_past(d->now_us, MAX(node->reported_us, d->breaker->reset_us),
					p->silent_after_us);
	}
	if (silent < SILENT_MIN || (double)silent * 100 <= p->breaker_silent_percent * (double)known)
		return;
	deciding_open(
		d, BREAKER_SILENT,
		deciding_text(d,
			      "%zu of %zu agents are silent, more than breaker.silent_percent %g: "
			      "the rest may not show the whole picture",
			      silent, known, p->breaker_silent_percent));
}

static void check_storm(struct deciding *d)
{
	const struct policy *p = d->policy;
	uint64_t limit = p->storm_cordons > 0 ? p->storm_cordons : 2 * p->rate_cordons;
	char per[CLOCK_DURATION_SIZE];
	size_t i;

	for (i = 0; i < d->fleet->n; i++) {
		uint64_t wanted_us = d->fleet->nodes[i]->record.wanted_us;

		d->out->wanted += wanted_us > d->breaker->reset_us &&
				  !deciding_past(d->now_us, wanted_us, p->storm_per_us);
	}
	if (limit == 0 || d->out->wanted <= limit)
		return;
	duration_format(p->storm_per_us, per);
	deciding_open(d, BREAKER_STORM,
		      deciding_text(d,
				    "%llu nodes were about to be cordoned within %s, more than the "
				    "%llu that breaker.storm allows",
				    (unsigned long long)d->out->wanted, per,
				    (unsigned long long)limit));
}

/* ---- all of it --------------------------------------------------------------- */

void policy_decide(const struct policy *policy, struct fleet *fleet, struct breaker *breaker,
		   uint64_t now_us, struct outcome *ret)
{
	struct deciding d = { policy, fleet, breaker, now_us, ret };

	pool_release(&ret->texts);
	ret->n = ret->n_changes = ret->n_candidates = 0;
	ret->opened = false;
	ret->again_us = 0;
	ret->wanted = 0;
	budget_count(&ret->budget, policy, fleet, breaker, now_us);
	ret->out = ret->budget.out;
	collect(&d);
	check_silence(&d);
	decide_shared(&d);
	decide_weigh(&d);
	check_storm(&d);
	decide_cordons(&d);
	decide_orders(&d);
	decide_drains(&d);
	ret->notices = fleet->notices;
	ret->n_notices = fleet->n_notices;
}

void outcome_release(struct outcome *o)
{
	free(o->items);
	free(o->changes);
	free(o->candidates);
	budget_release(&o->budget);
	pool_release(&o->texts);
	*o = (struct outcome){ 0 };
}

/* --- recording decisions: when they begin, and when they are done --- */

/* The life-cycle event of each action; -1: none. */
static const int events[DECIDE_ACTIONS] = {
	[DECIDE_NOTHING] = -1,
	[DECIDE_ALERT] = -1,
	[DECIDE_RETEST] = EVENT_RETEST,
	[DECIDE_DEEP] = -1,
	[DECIDE_VERIFY] = EVENT_VERIFY,
	[DECIDE_HOLD] = EVENT_HOLD,
	[DECIDE_UNHOLD] = EVENT_UNHOLD,
	[DECIDE_CORDON] = EVENT_CORDONED,
	[DECIDE_CORDON_DRAIN] = EVENT_CORDONED,
	[DECIDE_RELEASE] = EVENT_RELEASED,
	[DECIDE_DRAIN] = EVENT_DRAINED,
};

static bool is_cordon(const struct decision *decision)
{
	return decision->action == DECIDE_CORDON || decision->action == DECIDE_CORDON_DRAIN;
}

/* An order that changes no state: a deep test, or another test of a verifying node. */
static bool is_order_only(const struct decision *decision)
{
	return decision->action == DECIDE_DEEP ||
	       (decision->action == DECIDE_VERIFY &&
		decision->node->record.life.state == LIFE_VERIFYING);
}

/* -1: none. A drain that began earlier continues, with its deadline. */
static int begins_with(const struct decision *decision)
{
	switch (decision->action) {
	case DECIDE_RETEST:
	case DECIDE_VERIFY:
		return is_order_only(decision) ? -1 : events[decision->action];
	case DECIDE_DRAIN:
		return decision->only_ask || decision->node->record.drain_us > 0
			       ? -1
			       : EVENT_DRAIN_BEGUN;
	default:
		return -1;
	}
}

int policy_begun(struct fleet *fleet, const struct decision *decision, uint64_t now_us,
		 struct life_change *ret, struct err *err)
{
	const struct fleet_cause cause = { .event = begins_with(decision),
					   .who = WHO_AUTOMATIC,
					   .why = decision->reason,
					   .evidence = decision->evidence };

	if (is_order_only(decision))
		decision->node->record.ordered_us = now_us;
	if (decision->born)
		decision->node->record.born_us = now_us;
	if (cause.event >= 0)
		return fleet_event(fleet, decision->node, &cause, now_us, ret, err);
	ret->event = -1;
	return 0;
}

int policy_applied(const struct policy *policy UNUSED, struct fleet *fleet, struct breaker *breaker,
		   const struct decision *decision, uint64_t now_us, struct life_change *ret,
		   struct err *err)
{
	struct fleet_cause cause = { .event = events[decision->action],
				     .who = WHO_AUTOMATIC,
				     .why = decision->reason,
				     .evidence = decision->evidence,
				     .serial = decision->finding ? decision->finding->serial : NULL,
				     .until_us = decision->until_us,
				     .born = decision->born };
	int r;

	if (!decision->effect || decision->refused)
		return err_set(err, EINVAL, "%s: %s was refused, or is only reported",
			       decision->node->name, decision_action_names[decision->action]);
	if (is_order_only(decision)) {
		decision->node->record.ordered_us = now_us;
		cause.event = -1;
	}
	if (cause.event < 0) {
		if (ret)
			*ret = (struct life_change){ .from = decision->node->record.life.state,
						     .to = decision->node->record.life.state,
						     .event = -1,
						     .at_us = now_us,
						     .who = WHO_AUTOMATIC,
						     .why = decision->reason,
						     .evidence = decision->evidence,
						     .undo = "" };
		return 0;
	}
	if (decision->action == DECIDE_DRAIN && decision->only_ask)
		cause.event = EVENT_DRAIN_ASKED;
	if (is_cordon(decision) && decision->sticky)
		cause.event = EVENT_CORDONED_STICKY;
	r = fleet_event(fleet, decision->node, &cause, now_us, ret, err);
	if (r == 0 && is_cordon(decision))
		breaker_count(breaker, now_us);
	return r;
}
