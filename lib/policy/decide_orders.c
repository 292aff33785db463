/* SPDX-License-Identifier: Apache-2.0 */
/* Tests, holds, releases and coverage: what policy_decide() asks for besides cordons. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/policy/decide_groups.h"
#include "lib/policy/decide_inside.h"
#include "lib/policy/rungs.h"

enum {
	ABORTED_MAX = 3,	 /* tests without a result before a hold is requested */
	ABORTED_DOUBLED_MAX = 8, /* how often the wait for a suspect's next test is doubled */
};

/* While attribution still blames a node, a deep test is not ordered more often than this. */
#define BLAMED_AGAIN_US USEC_PER_DAY

static bool is_quiet(const struct deciding *d, const struct fleet_node *node)
{
	return !deciding_reached(d, node->record.silence_until_us, 0);
}

static bool is_idle(const struct fleet_node *node)
{
	return node->n_jobs == 0 && node->record.ordered_us == 0;
}

/* An order that was not answered in time is over. */
static void expire_order(const struct deciding *d, struct fleet_node *node)
{
	struct node_record *record = &node->record;

	if (record->ordered_us == 0 ||
	    !deciding_reached(d, record->ordered_us, d->policy->retest_timeout_us))
		return;
	record->ordered_us = 0;
	record->aborted++;
}

static struct decision *order(struct deciding *d, struct fleet_node *node, int action,
			      const char *rule)
{
	struct decision *one = deciding_add(d, node, action);

	one->rule = rule;
	return one;
}

/* ---- held nodes: verify and release ------------------------------------------ */

/* Nothing but a person is in its way. */
static void ask_person(struct deciding *d, struct fleet_node *node)
{
	struct decision *one = order(d, node, DECIDE_RELEASE, "release");
	struct refusal refusal = { .by = REFUSED_BY_PERSON };

	(void)snprintf(refusal.sentence, sizeof(refusal.sentence), "person: %.200s is %s",
		       node->name,
		       node->record.life.manual ? "cordoned by an operator"
						: "sticky: it was cordoned too often");
	(void)snprintf(refusal.allow, sizeof(refusal.allow),
		       "assayctl repair-done %.100s, or assayctl uncordon %.100s --reason REASON",
		       node->name, node->name);
	one->reason = deciding_text(d, "%s: no longer bad", node->name);
	deciding_refuse(d, one, &refusal);
}

static void decide_release(struct deciding *d, struct fleet_node *node)
{
	struct decision *one = order(d, node, DECIDE_RELEASE, "release");
	char delay[CLOCK_DURATION_SIZE];
	struct refusal refusal;

	duration_format(d->policy->release_delay_us, delay);
	one->reason = deciding_text(
		d, "%s: nothing has been bad since %s, and %u active test%s passed", node->name,
		delay, node->record.passes, node->record.passes == 1 ? "" : "s");
	if (!hands_allow(node, &refusal) || !facts_allow(d->fleet, &refusal))
		deciding_refuse(d, one, &refusal);
}

static void decide_held(struct deciding *d, struct fleet_node *node)
{
	const struct policy *p = d->policy;
	struct node_record *record = &node->record;
	bool clear = record->clear_us > 0;
	bool waited = clear && deciding_reached(d, record->clear_us, p->release_delay_us);

	if (record->life.state == LIFE_VERIFYING && !clear)
		deciding_step(d, node, EVENT_VERIFY_FAILED, "something has failed again", NULL);
	if (!clear || record->life.state == LIFE_IN_REPAIR || is_quiet(d, node))
		return;
	if (record->life.state == LIFE_STICKY || record->life.manual) {
		if (waited)
			ask_person(d, node);
		return;
	}
	if (record->life.state == LIFE_VERIFYING && record->passes >= p->release_passes) {
		if (waited)
			decide_release(d, node);
		return;
	}
	if (record->ordered_us == 0 && !node->hands_off &&
	    deciding_reached(d, record->tested_us, p->retest_spacing_us)) {
		struct decision *one = order(d, node, DECIDE_VERIFY, "release");

		one->reason = deciding_text(d, "%s: no longer bad; %u of %llu tests passed",
					    node->name, record->passes,
					    (unsigned long long)p->release_passes);
	}
}

/* ---- nodes in service: tests and alerts -------------------------------------- */

/* A partner known to be good: preferably in the same domain, and not the last one. */
static struct fleet_node *partner_of(const struct deciding *d, const struct candidate *c)
{
	struct fleet_node *best = NULL;
	bool best_near = false;
	size_t i;

	for (i = 0; i < d->fleet->n; i++) {
		struct fleet_node *node = d->fleet->nodes[i];
		bool near = node->domain != NAME_NONE && node->domain == c->node->domain;

		if (node == c->node || node->out || node->hands_off || node->record.clear_us == 0 ||
		    !is_idle(node) || streq(node->name, c->finding->partner) ||
		    node->scratch & IS_PARTNER || (best && (best_near || !near)) ||
		    deciding_past(d->now_us, node->reported_us, d->policy->silent_after_us))
			continue;
		best = node;
		best_near = near;
	}
	return best;
}

static void decide_test(struct deciding *d, const struct candidate *c)
{
	struct fleet_node *node = c->node;
	bool pair = finding_is_pair(c->finding);
	struct fleet_node *partner;
	struct decision *one;

	if (!is_idle(node) ||
	    !deciding_reached(d, c->finding->tested_us, d->policy->retest_spacing_us))
		return;
	partner = pair ? partner_of(d, c) : NULL;
	if (pair && !partner)
		return;
	one = order(d, node, DECIDE_RETEST, c->rule->name);
	one->finding = c->finding;
	if (partner) {
		partner->scratch |= IS_PARTNER;
		one->partner = partner->name;
	}
	one->reason =
		deciding_text(d, "%s: %s; retesting, %u of %llu tests failed so far", node->name,
			      c->finding->sentence ? c->finding->sentence : c->finding->check,
			      c->finding->reproduced, (unsigned long long)d->policy->retest_times);
	one->evidence = deciding_incident(d, c->finding);
}

static void decide_alert(struct deciding *d, const struct candidate *c)
{
	struct decision *one = order(d, c->node, DECIDE_ALERT, c->rule->name);

	one->finding = c->finding;
	one->fatal = c->fatal;
	one->effect = true;
	one->evidence = deciding_incident(d, c->finding);
	one->reason = deciding_text(d, "%s: %s", c->node->name,
				    c->finding->sentence ? c->finding->sentence : c->finding->check);
}

/* The job asks for the tests that show it again, sooner: its rungs are next. */
static bool is_on_ladder(const struct deciding *d, const struct candidate *c)
{
	const struct blame *blame = &c->node->blame;

	return blame->reach == BLAME_TO_TEST && !blame->diagnosed && !finding_is_pair(c->finding) &&
	       c->node->n_jobs == 0 &&
	       blame_agrees(blame, c->finding->check, c->finding->seen_us, d->now_us);
}

static void decide_in_service(struct deciding *d)
{
	size_t i;

	for (i = 0; i < d->out->n_candidates; i++) {
		const struct candidate *c = &d->out->candidates[i];
		struct fleet_node *node = c->node;

		if (c->want == WANT_NOTHING || life_holds(node->record.life.state) ||
		    is_quiet(d, node))
			continue;
		decide_alert(d, c);
		if (node->record.life.state == LIFE_HEALTHY ||
		    node->record.life.state == LIFE_RELEASED)
			deciding_step(d, node, EVENT_SUSPECTED,
				      "bad in enough of its last runs, or fatal",
				      c->finding->incident ? deciding_incident(d, c->finding)
							   : NULL);
		if (c->want == WANT_RETEST && is_on_ladder(d, c))
			continue;
		if (c->want == WANT_RETEST)
			node->scratch |= ASKS_FOR_TEST;
		if (c->want != WANT_RETEST || node->scratch & (HAS_CORDON | HAS_TEST) ||
		    d->breaker->open || !is_ours(node) || node->out & OUT_OTHERS)
			continue;
		node->scratch |= HAS_TEST;
		if (node->n_jobs > 0 || node->record.aborted >= ABORTED_MAX)
			node->scratch |= NEEDS_HOLD;
		decide_test(d, c);
	}
}

static bool is_due(const struct deciding *d, const struct fleet_node *node)
{
	uint64_t since_us = MAX(node->deep_us, node->known_us);

	return d->policy->coverage_max_age_us > 0 && is_ours(node) &&
	       deciding_past(d->now_us, since_us, d->policy->coverage_max_age_us);
}

/*
 * True if a fitting finding was bad in its last run. Tests of a host do not repeat those of pairs.
 */
static bool fails_so(const struct deciding *d, const struct fleet_node *node)
{
	const struct finding *f;

	for (f = node->findings; f; f = f->next) {
		if (windows_bad(&f->windows, 1) > 0 && !finding_is_pair(f) &&
		    blame_agrees(&node->blame, f->check, f->seen_us, d->now_us))
			return true;
	}
	return false;
}

/*
 * A test without a result (its devices were busy) is repeated soon, then with growing delay; one
 * that found something that fits, as soon as a repetition counts.
 */
static uint64_t blamed_again_us(const struct deciding *d, const struct fleet_node *node)
{
	const uint64_t soon_us = d->policy->jobs.retest_spacing_us;
	const unsigned doubled = MIN(node->record.aborted, (unsigned)ABORTED_DOUBLED_MAX);

	if (doubled == 1 && rungs_is_short(node->blame.rung))
		return MIN(soon_us, RUNGS_LOST_AGAIN_US);
	if (doubled > 0)
		return MIN(soon_us << (doubled - 1), BLAMED_AGAIN_US);
	return fails_so(d, node) ? soon_us : BLAMED_AGAIN_US;
}

/*
 * The next rung follows at once when it is known to be next: not before whoever blames the node has
 * seen the last answer. The record of tests has milliseconds.
 */
static bool is_heard(const struct fleet_node *node)
{
	return node->record.tested_us < node->blame.answered_us + USEC_PER_MSEC;
}

/*
 * A failure is repeated once that counts, even if another rung ran in between; after tests without
 * a result, not before the next one is due.
 */
static bool is_repeat_due(const struct deciding *d, const struct fleet_node *node,
			  uint64_t answered_us)
{
	uint64_t due_us = answered_us + blamed_again_us(d, node);

	if (node->blame.again_us && node->record.aborted > 0)
		due_us = MAX(due_us, node->blame.again_us);
	else if (node->blame.again_us && is_heard(node))
		due_us = node->blame.again_us;
	return deciding_reached(d, due_us, 0);
}

/*
 * A suspect is tested once it is one. A run that was not ordered does not count (job_facts.h): it
 * may have begun earlier, and beside a job.
 */
static bool is_blame_due(const struct deciding *d, const struct fleet_node *node)
{
	/* The record is from this run of the controller: that of healthy hosts is not stored. */
	const uint64_t answered_us = MAX(node->blame.answered_us, node->record.tested_us);

	if (node->blame.reach == BLAME_TO_EVICT)
		return deciding_past(d->now_us, MAX(node->deep_us, answered_us), BLAMED_AGAIN_US);
	if (node->blame.diagnosed)
		return answered_us < node->blame.since_us; /* once, whatever it finds */
	return answered_us < node->blame.since_us || (node->blame.climbs && is_heard(node)) ||
	       is_repeat_due(d, node, answered_us);
}

/* The requested rung; after repeated tests without a result everything is measured instead. */
static const char *rung_of(const struct fleet_node *node)
{
	return node->record.aborted < RUNGS_LOST_MAX ? node->blame.rung : NULL;
}

/* Number of nodes held by themselves, or tested without findings. */
static size_t count_busy(const struct deciding *d)
{
	const size_t most = d->policy->jobs.over_evict_hosts;
	size_t busy = 0, of_groups = 0, i;

	for (i = 0; i < d->fleet->n; i++) {
		const struct fleet_node *node = d->fleet->nodes[i];

		if (decide_groups_holds(d, node))
			of_groups++;
		else
			busy += node->out & OUT_HOLD ||
				(node->record.ordered_us > 0 && node->record.clear_us > 0);
	}
	return busy + of_groups - MIN(of_groups, most);
}

/*
 * Holds the node first, so that no job starts on it while it is tested. If there is no room for
 * another hold it is tested anyway: a test that meets a job has no result and does no harm. The
 * same goes for hosts of a job under diagnosis: there is no room for all of them.
 */
static bool decide_blamed_hold(struct deciding *d, struct fleet_node *node, size_t busy)
{
	struct refusal refusal;
	struct decision *one;

	if (node->out & OUT_HOLD || node->blame.reach == BLAME_TO_TELL || node->blame.diagnosed ||
	    busy >= d->policy->hold_at_once || !node_allows(node, &refusal) ||
	    !facts_allow(d->fleet, &refusal) ||
	    !budget_allows(&d->out->budget, node, false, &refusal))
		return false;
	one = order(d, node, DECIDE_HOLD, DECIDE_BLAMED_RULE);
	one->until_us = d->now_us + d->policy->hold_ttl_us;
	one->reason = deciding_text(d, "%s: tested because it slowed %s", node->name,
				    node->blame.job ? node->blame.job : "a job");
	budget_take(&d->out->budget, node, false);
	return true;
}

static void decide_blamed(struct deciding *d, struct fleet_node *node, size_t *busy)
{
	struct decision *one;

	if (!blame_holds(&node->blame, d->now_us) || node->blame.reach == BLAME_TO_HOLD ||
	    node->scratch || d->breaker->open || !is_ours(node) || node->out & ~(unsigned)OUT_HOLD ||
	    !is_idle(node) || is_quiet(d, node) || !is_blame_due(d, node))
		return;
	node->scratch |= HAS_TEST;
	if (decide_blamed_hold(d, node, *busy)) {
		(*busy)++;
		return;
	}
	one = order(d, node, DECIDE_DEEP, DECIDE_BLAMED_RULE);
	one->profile = rung_of(node);
	one->reason = deciding_text(
		d,
		node->blame.diagnosed ? "%s: %s is being diagnosed: all of its hosts are tested"
				      : "%s: it slowed %s, and nothing has been found yet",
		node->name, node->blame.job ? node->blame.job : "a job");
	if (node->blame.reach == BLAME_TO_TELL)
		one->effect = false;
}

/* ---- coverage and holds ------------------------------------------------------ */

static int by_age(const void *a, const void *b)
{
	const struct fleet_node *x = *(struct fleet_node *const *)a;
	const struct fleet_node *y = *(struct fleet_node *const *)b;
	uint64_t x_us = MAX(x->deep_us, x->known_us), y_us = MAX(y->deep_us, y->known_us);

	if (x_us != y_us)
		return x_us < y_us ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void list_due(const struct deciding *d, struct coverage *ret)
{
	size_t i, n = 0;

	*ret = (struct coverage){ 0 };
	for (i = 0; i < d->fleet->n; i++)
		n += is_due(d, d->fleet->nodes[i]);
	if (n == 0)
		return;
	ret->due = xcalloc(n, sizeof(struct fleet_node *));
	for (i = 0; i < d->fleet->n; i++) {
		if (is_due(d, d->fleet->nodes[i]))
			ret->due[ret->n++] = d->fleet->nodes[i];
	}
	qsort(ret->due, ret->n, sizeof(struct fleet_node *), by_age);
}

void coverage_list(const struct policy *policy, const struct fleet *fleet, uint64_t now_us,
		   struct coverage *ret)
{
	struct deciding d = { .policy = policy,
			      .fleet = (struct fleet *)(uintptr_t)fleet,
			      .now_us = now_us };

	list_due(&d, ret);
}

void coverage_release(struct coverage *c)
{
	free(c->due);
	*c = (struct coverage){ 0 };
}

static void decide_hold(struct deciding *d, struct fleet_node *node, const char *rule)
{
	struct refusal refusal;
	struct decision *one;

	if (!node_allows(node, &refusal) || node->out & OUT_HOLD)
		return;
	one = order(d, node, DECIDE_HOLD, rule);
	one->until_us = d->now_us + d->policy->hold_ttl_us;
	one->reason = deciding_text(d, "%s: a test is due, but jobs keep it busy", node->name);
	if (facts_allow(d->fleet, &refusal) &&
	    budget_allows(&d->out->budget, node, false, &refusal)) {
		budget_take(&d->out->budget, node, false);
		return;
	}
	deciding_refuse(d, one, &refusal);
}

/* At most hold.at_once nodes are held, or tested for coverage, at once. */
static void decide_coverage(struct deciding *d, size_t busy)
{
	size_t at_once = MAX((size_t)d->policy->hold_at_once, (size_t)1), i;
	CLEANUP(coverage_release) struct coverage due = { 0 };

	if (d->breaker->open || busy >= at_once)
		return;
	list_due(d, &due);
	for (i = 0; i < due.n && busy < at_once; i++) {
		struct fleet_node *node = due.due[i];

		if (node->scratch || is_quiet(d, node) || node->record.clear_us == 0 ||
		    node->out & ~(unsigned)OUT_HOLD || node->record.ordered_us > 0)
			continue;
		busy++;
		if (is_idle(node))
			order(d, node, DECIDE_DEEP, "coverage")->reason = deciding_text(
				d, "%s: its last full test was too long ago", node->name);
		else if (d->policy->hold_at_once > 0)
			decide_hold(d, node, "coverage");
	}
}

/*
 * True if anything asks for a test or a cordon of it, whether it may be ordered now or not, or if a
 * test is under way.
 */
static bool is_to_be_tested(const struct deciding *d, const struct fleet_node *node)
{
	return node->record.ordered_us > 0 || node->scratch & (ASKS_FOR_TEST | HAS_CORDON) ||
	       is_due(d, node) || (blame_holds(&node->blame, d->now_us) && is_idle(node));
}

static void decide_unhold(struct deciding *d, struct fleet_node *node)
{
	const bool over = deciding_reached(d, node->record.hold_until_us, 0);

	if (node->out & OUT_HOLD &&
	    (over || (!d->fleet->awaits_blames && !is_to_be_tested(d, node))))
		order(d, node, DECIDE_UNHOLD, "hold")->reason =
			deciding_text(d, "%s: %s", node->name,
				      over ? "its hold has ended" : "no test of this host is due");
}

static void settle(struct deciding *d, struct fleet_node *node)
{
	int state = node->record.life.state;

	if ((state == LIFE_SUSPECTED || state == LIFE_RETESTING) && node->record.clear_us > 0 &&
	    node->record.ordered_us == 0)
		deciding_step(d, node, EVENT_CLEARED, "no longer bad", NULL);
	else if (state == LIFE_RELEASED &&
		 deciding_past(d->now_us, node->record.life.since_us, d->policy->sticky_window_us))
		deciding_step(d, node, EVENT_SETTLED, "no finding within the sticky window", NULL);
}

void decide_orders(struct deciding *d)
{
	size_t busy, i;

	for (i = 0; i < d->fleet->n; i++)
		expire_order(d, d->fleet->nodes[i]);
	busy = count_busy(d);
	decide_in_service(d);
	decide_groups(d);
	for (i = 0; i < d->fleet->n; i++) {
		struct fleet_node *node = d->fleet->nodes[i];

		if (life_holds(node->record.life.state))
			decide_held(d, node);
		else
			decide_blamed(d, node, &busy);
		settle(d, node);
		decide_unhold(d, node);
		if (node->scratch & NEEDS_HOLD && !(node->out & OUT_HOLD) &&
		    busy < d->policy->hold_at_once) {
			decide_hold(d, node, "retest");
			busy++;
		}
	}
	decide_coverage(d, busy);
}
