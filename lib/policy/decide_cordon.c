/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_cordon.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/judge/reference.h"
#include "lib/policy/decide_gain.h"
#include "lib/policy/decide_inside.h"

/* ---- what a finding asks for ------------------------------------------------ */

/*
 * True if a slow job says the same. For what needs two hosts, only once a partner known to be good
 * has shown which of them it is. A good run since then shows that a part is not slow now, unless it
 * is known to be born slow: those have good runs too.
 */
static bool is_blamed(const struct deciding *d, const struct candidate *c)
{
	const struct finding *finding = c->finding;

	return blame_fits(&c->node->blame, finding->check, finding->seen_us, d->now_us) &&
	       (!finding_is_pair(finding) || finding->reproduced > 0) &&
	       (c->born || windows_bad(&finding->windows, 1) > 0);
}

static bool is_reproduced(const struct deciding *d, const struct candidate *c, bool measured)
{
	const struct finding *finding = c->finding;

	return is_blamed(d, c) || finding->reproduced >= d->policy->retest_times ||
	       (!measured && finding->exonerated >= d->policy->retest_returns);
}

/* True if a rule that cordons needs no more than its K of N. */
static bool is_proven(const struct deciding *d, const struct candidate *c, bool measured)
{
	const struct finding *finding = c->finding;

	if (is_reproduced(d, c, measured) || finding->reproduced > 0)
		return true;
	if (finding_is_pair(finding))
		return false;
	return !measured || c->rule->k > 1;
}

/*
 * A run that was not ordered shows a value again as well as a test does, and comes while the test
 * still waits: jobs keep the host busy, or the budgets have no room for a hold. It counts as one,
 * if it is as far from the last one as tests are. The run that caused the request proves nothing
 * twice, and a run while a test is under way may be that test's.
 */
static void count_run(const struct deciding *d, const struct candidate *c)
{
	struct finding *finding = c->finding;
	const uint64_t last_us = MAX(finding->tested_us, finding->asks_us);

	if (finding->asks_us == 0 || c->suspect || finding->shared || c->born ||
	    finding->reproduced >= d->policy->retest_times || c->node->record.ordered_us > 0 ||
	    finding_is_pair(finding) || !family_find(finding->check, NULL)->compared ||
	    !windows_bad(&finding->windows, 1) || finding->seen_us < last_us ||
	    finding->seen_us - last_us < d->policy->retest_spacing_us)
		return;
	finding->tested_us = finding->seen_us;
	finding->reproduced++;
	finding->passed = 0;
}

static int want_of(const struct deciding *d, const struct candidate *c)
{
	bool measured = family_find(c->finding->check, NULL)->compared;

	if (c->finding->shared)
		return WANT_NOTHING;
	if (c->rule->action == ACTION_ALERT)
		return WANT_ALERT;
	if (streq(c->finding->code, FINDING_IMPOSSIBLE))
		return WANT_ALERT;
	if (c->born)
		return is_blamed(d, c) ? WANT_CORDON : WANT_ALERT;
	if (c->rule->action == ACTION_RETEST)
		return is_reproduced(d, c, measured) ? WANT_CORDON : WANT_RETEST;
	return c->fatal || is_proven(d, c, measured) ? WANT_CORDON : WANT_RETEST;
}

/* ---- what people said -------------------------------------------------------- */

static bool is_overridden(const struct deciding *d, const struct candidate *c)
{
	const struct node_record *record = &c->node->record;

	if (record->override_until_us <= d->now_us)
		return false;
	return !c->fatal || c->finding->fatal_us <= record->override_us;
}

static bool refuse_until(struct refusal *ret, int by, uint64_t until_us, const char *what)
{
	char stamp[CLOCK_STAMP_SIZE];

	*ret = (struct refusal){ .by = by, .again_us = until_us };
	clock_stamp(until_us, stamp);
	(void)snprintf(ret->sentence, sizeof(ret->sentence), "%s until %s", what, stamp);
	(void)snprintf(ret->allow, sizeof(ret->allow), "waiting until %s, or assayctl %s", stamp,
		       by == REFUSED_BY_SILENCE ? "silence NODE --for 0s"
						: "override NODE --for 0s");
	return false;
}

bool decide_stands_allow(const struct deciding *d, const struct candidate *c, struct refusal *ret)
{
	const struct node_record *record = &c->node->record;

	if (!node_allows(c->node, ret))
		return false;
	if (record->silence_until_us > d->now_us)
		return refuse_until(ret, REFUSED_BY_SILENCE, record->silence_until_us,
				    "silence: an operator silenced it");
	return !is_overridden(d, c) ||
	       refuse_until(ret, REFUSED_BY_OVERRIDE, record->override_until_us,
			    "override: an operator put it back in service, and that still holds");
}

/* A cordon for which jobs.born has no place does not stand either. */
static bool may_stand(const struct deciding *d, const struct candidate *c, struct refusal *ret)
{
	return decide_stands_allow(d, c, ret) &&
	       (!c->born || budget_born_allows(&d->out->budget, c->node, c->finding, ret));
}

/* Fatal first, then the oldest, then by name; of one node the strongest request first. */
static int by_weight(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order;

	if (x->fatal != y->fatal)
		return y->fatal - x->fatal;
	if (x->finding->since_us != y->finding->since_us)
		return x->finding->since_us < y->finding->since_us ? -1 : 1;
	order = strcmp(x->node->name, y->node->name);
	if (order == 0)
		order = strcmp(x->finding->check, y->finding->check);
	return order != 0 ? order : strcmp(x->finding->subject, y->finding->subject);
}

void decide_weigh(struct deciding *d)
{
	struct outcome *out = d->out;
	size_t i;

	for (i = 0; i < out->n_candidates; i++) {
		struct candidate *c = &out->candidates[i];
		struct node_record *record = &c->node->record;
		struct refusal refusal;

		count_run(d, c);
		c->want = want_of(d, c);
		if (c->want != WANT_RETEST)
			c->finding->asks_us = 0;
		else if (c->finding->asks_us == 0)
			c->finding->asks_us = d->now_us;
		/* Parts that were always slow are only wanted as far as jobs.born has places. */
		if (c->want == WANT_CORDON && !c->born && record->wanted_us == 0 &&
		    !life_holds(record->life.state) && decide_stands_allow(d, c, &refusal))
			record->wanted_us = d->now_us;
	}
	if (out->n_candidates > 1)
		qsort(out->candidates, out->n_candidates, sizeof(*out->candidates), by_weight);
}

/* ---- cordons ---------------------------------------------------------------- */

static bool is_allowed(struct deciding *d, const struct candidate *c, struct refusal *ret)
{
	return may_stand(d, c, ret) && facts_allow(d->fleet, ret) &&
	       breaker_allows(d->breaker, ret) &&
	       budget_allows(&d->out->budget, c->node, true, ret);
}

const char *decide_evidence(struct deciding *d, const struct candidate *c)
{
	const struct finding *finding = c->finding;

	return deciding_text(
		d, "%s%s%s of %s; reproduced %u of %llu%s%s", deciding_incident(d, finding),
		finding->incident ? "; " : "", finding->check, finding->subject,
		finding->reproduced, (unsigned long long)d->policy->retest_times,
		finding->partner ? "; partner " : "", finding->partner ? finding->partner : "");
}

/* "; research/llm-7 is slow because of it", if a job says the same. */
static const char *job_agrees(struct deciding *d, const struct candidate *c)
{
	const struct blame *blame = &c->node->blame;

	return blame->job && !blame->diagnosed &&
			       blame_agrees(blame, c->finding->check, c->finding->seen_us, d->now_us)
		       ? deciding_text(d, "; %s is slow because of it", blame->job)
		       : "";
}

static void grant(struct deciding *d, const struct candidate *c)
{
	struct node_record *record = &c->node->record;

	budget_take(&d->out->budget, c->node, true);
	if (!c->born)
		return;
	budget_take_born(&d->out->budget, c->node);
	record->wanted_us = record->wanted_us ? record->wanted_us : d->now_us;
}

static void decide_cordon(struct deciding *d, const struct candidate *c)
{
	const struct policy *p = d->policy;
	bool drain = c->rule->action == ACTION_CORDON_DRAIN;
	struct decision *one = deciding_add(d, c->node, drain ? DECIDE_CORDON_DRAIN : DECIDE_CORDON);
	uint64_t window_us = MIN(p->sticky_window_us, d->now_us);
	struct refusal refusal = { 0 };

	one->finding = c->finding;
	one->fatal = c->fatal;
	one->born = c->born;
	one->rule = c->rule->name;
	one->evidence = decide_evidence(d, c);
	one->sticky = fleet_repeats(c->node, d->now_us - window_us) + 1 >= p->sticky_after;
	one->reason = deciding_text(
		d, "%s: %s%s%s%s%s", c->node->name,
		c->finding->sentence ? c->finding->sentence : c->finding->check,
		c->born ? "; it has always been this slow" : "", job_agrees(d, c),
		decide_gain_text(d, c->node),
		one->sticky ? "; cordoned too often: only an operator can release it" : "");
	if (is_allowed(d, c, &refusal)) {
		grant(d, c);
		return;
	}
	/* Refused for weeks: test other findings on the node meanwhile. */
	if (refusal.by == REFUSED_BY_BORN)
		c->node->scratch = IS_WITHHELD;
	deciding_refuse(d, one, &refusal);
}

/* A cordon that an old order of a person, or jobs.born, refuses may stand beside others. */
static void decide_those(struct deciding *d, bool withheld)
{
	struct outcome *out = d->out;
	struct refusal refusal;
	size_t i;

	for (i = 0; i < out->n_candidates; i++) {
		const struct candidate *c = &out->candidates[i];

		if (c->want != WANT_CORDON || c->waits || c->node->scratch ||
		    life_holds(c->node->record.life.state) || may_stand(d, c, &refusal) == withheld)
			continue;
		c->node->scratch = HAS_CORDON;
		decide_cordon(d, c);
	}
}

static bool waits_for_budget(struct deciding *d, const struct candidate *c)
{
	struct refusal refusal;

	return c->want == WANT_CORDON && !life_holds(c->node->record.life.state) &&
	       decide_stands_allow(d, c, &refusal);
}

void decide_cordons(struct deciding *d)
{
	size_t i;

	decide_gain_order(d, waits_for_budget);
	for (i = 0; i < d->fleet->n; i++)
		d->fleet->nodes[i]->scratch = 0;
	decide_those(d, false);
	decide_those(d, true);
}
