/* SPDX-License-Identifier: Apache-2.0 */
/* What tests with other hosts say of a host becomes a finding like any other. */
#include <math.h>
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"
#include "lib/report/report.h"

bool act_knows(const struct act *act)
{
	return act->stage == STAGE_ACTING || act->stage == STAGE_FENCED;
}

const char *act_in_use(const struct act *act, const char *node)
{
	const struct fleet_node *n = fleet_find(&act->fleet, node);
	const char *stopped = cluster_stopped(act->options.cluster);
	const struct doing *test;

	if (stopped)
		return stopped;
	if (act->stage == STAGE_FENCED)
		return "another controller has taken over";
	if (act->fleet.stale)
		return act->fleet.stale; /* a job may run on it by now */
	if (!n)
		return NULL; /* it reports, and is no node of the cluster: nothing is known of it */
	if (n->hands_off)
		return n->hands_off;
	if (n->n_jobs > 0)
		return "a job runs on it";
	test = doing_test_of(act, node);
	return test && !test->partner ? "another test of it is under way" : NULL;
}

const json_t *act_labels(const struct act *act, const char *node)
{
	const struct act_host *host = act_host(act, node);

	return host ? host->c.labels : NULL;
}

const char *act_address(const struct act *act, const char *node)
{
	const struct act_host *host = act_host(act, node);

	return host ? host->c.address : NULL;
}

/* --- tests that the policy wants --- */

/* As for orders: who could not be tested is looked at again after this. */
#define WANTED_AGAIN_US USEC_PER_MIN

bool act_wants_others(struct act *act, struct act_wanted *ret)
{
	const uint64_t now_us = act_mono_us(act);
	struct doing *d;

	for (d = act->doings; act->stage == STAGE_ACTING && d; d = d->next) {
		if (d->phase != PHASE_TEST || !d->partner || d->resumed ||
		    (d->offered_us && now_us - d->offered_us < WANTED_AGAIN_US))
			continue;
		*ret = (struct act_wanted){ d->node, d->partner, d->check, d->offered_us == 0 };
		d->offered_us = now_us;
		return true;
	}
	return false;
}

void act_tested_with_others(struct act *act, const char *node, int outcome)
{
	struct doing *test = doing_test_of(act, node);

	if (test && test->partner && act->stage == STAGE_ACTING)
		act_tested(act, test, outcome, false);
}

/* --- the window --- */

static const struct policy_rule *rule_of(const struct act *act, const struct fleet_node *node,
					 const char *check)
{
	const struct policy *policy = act->options.policy(act->options.context);
	const struct policy_subject subject = {
		.check = check,
		.sku = node && node->sku != NAME_NONE ? names_text(&act->fleet.skus, node->sku)
						      : NULL,
	};

	return policy_match(policy, &subject);
}

/* The row that stands, or a new one. Release it. */
static struct store_window row_of(struct act *act, const struct act_paired *p)
{
	struct store_window *rows = NULL, row = { .since_us = act_real_us(act) };
	int n = store_windows(act->options.store, p->node, &rows, FLEET_FINDINGS_MAX, NULL), i;

	for (i = 0; i < n; i++) {
		if (!row.check && streq(rows[i].check, p->check) &&
		    streq(rows[i].subject, p->subject))
			row = rows[i];
		else
			store_window_release(&rows[i]);
	}
	free(rows);
	if (!row.check) {
		row.check = xstrdup(p->check);
		row.subject = xstrdup(p->subject);
	}
	return row;
}

static void describe(struct act *act, const struct act_paired *p, const struct policy_rule *rule,
		     struct store_window *row)
{
	size_t i;

	row->k = rule ? (unsigned)MIN(rule->k, (uint64_t)WINDOWS_MAX) : 1;
	row->n = rule ? (unsigned)MIN(rule->n, (uint64_t)WINDOWS_MAX) : 1;
	row->last_us = act_real_us(act);
	for (i = 0; i < p->n_passes; i++)
		windows_push(&row->windows, true);
	row->severity = SEVERITY_WARN;
	row->source = SOURCE_PEERS;
	row->score = p->ratio;
	free(row->sentence);
	row->sentence = xstrdup(p->words);
}

static int put_incident(struct act *act, const struct act_paired *p, const struct policy_rule *rule,
			const struct store_window *row, struct err *err)
{
	CLEANUP(freep) char *sentence = xasprintf("%s: %s", p->node, p->words);
	const struct store_incident incident = {
		.node = p->node,
		.check = p->check,
		.subject = p->subject,
		.level = VERDICT_FAIL,
		.rule = rule ? rule->name : NULL,
		.action = policy_action_names[rule ? rule->action : ACTION_OBSERVE],
		.sentence = sentence,
		.since_us = row->since_us,
	};

	if (!windows_reached(&row->windows, row->k, row->n))
		return 0;
	return store_put_incident(act->options.store, &incident, act_real_us(act), err);
}

/* --- what it comes to --- */

/* Each pass with somebody good is one test that failed again. */
static void count_passes(struct act *act, struct fleet_node *node, struct finding *finding,
			 const struct act_paired *p)
{
	size_t i;

	for (i = 0; i < p->n_passes; i++) {
		const struct fleet_test test = {
			.outcome = TEST_FAILED,
			.finding = finding,
			.partner = p->passes[i].partner,
			.partner_good = p->passes[i].partner_good,
			.at_us = act_real_us(act),
		};

		(void)fleet_tested(&act->fleet, node, &test);
	}
}

static int note_bad(struct act *act, const struct act_paired *p, struct err *err)
{
	struct fleet_node *node = fleet_find(&act->fleet, p->node);
	const struct policy_rule *rule = rule_of(act, node, p->check);
	struct store_window row = row_of(act, p);
	struct finding *finding;
	int r;

	describe(act, p, rule, &row);
	r = store_put_window(act->options.store, p->node, &row, err);
	if (r == 0)
		r = put_incident(act, p, rule, &row, err);
	store_window_release(&row);
	if (r < 0 || !node)
		return r;
	act_load_findings(act, p->node);
	finding = fleet_finding(node, p->check, p->subject);
	if (finding)
		count_passes(act, node, finding, p);
	return act_keep_record(act, node, err);
}

/* Is it what tests with others said of this check? */
static bool is_of_others(const struct store_window *row, const struct act_paired *p)
{
	return streq(row->check, p->check) &&
	       (streq(row->subject, p->subject) || starts_with(row->subject, "rail:"));
}

static bool is_bad_alone(const struct store_window *rows, int n, const struct act_paired *p)
{
	int i = 0;

	while (i < n && !(streq(rows[i].check, p->check) && !is_of_others(&rows[i], p) &&
			  windows_reached(&rows[i].windows, rows[i].k, rows[i].n)))
		i++;
	return i < n;
}

/* All that tests with others said of it in this check is over. */
static int note_good(struct act *act, const struct act_paired *p, struct err *err)
{
	struct fleet_node *node = fleet_find(&act->fleet, p->node);
	struct store_window *rows = NULL;
	int n = store_windows(act->options.store, p->node, &rows, FLEET_FINDINGS_MAX, err), r = 0,
	    i;
	/* Its own runs may have found a port of it bad in the same check: that goes on. */
	const bool alone = is_bad_alone(rows, n, p);

	for (i = 0; i < n; i++) {
		const bool ours = is_of_others(&rows[i], p);
		struct finding *finding =
			ours && node ? fleet_finding(node, p->check, rows[i].subject) : NULL;
		const struct fleet_test test = { .outcome = TEST_PASSED,
						 .finding = finding,
						 .at_us = act_real_us(act) };

		if (finding)
			(void)fleet_tested(&act->fleet, node, &test);
		if (r == 0 && ours)
			r = store_drop_window(act->options.store, p->node, &rows[i], err);
		if (r == 0 && ours && !alone)
			r = store_close_incident(act->options.store, p->node, p->check,
						 act_real_us(act), err);
		store_window_release(&rows[i]);
	}
	free(rows);
	if (n < 0 || r < 0)
		return n < 0 ? n : r;
	act_load_findings(act, p->node);
	return node ? act_keep_record(act, node, err) : 0;
}

int act_paired(struct act *act, const struct act_paired *paired, struct err *err)
{
	const int r = paired->bad ? note_bad(act, paired, err) : note_good(act, paired, err);

	act->dirty = true;
	act->options.touch(act->options.context);
	return r;
}
