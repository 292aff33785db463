/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/paired.h"

#include <math.h>
#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "controller/actions/node_life.h"
#include "controller/store/store.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"
#include "lib/report/report.h"

/* --- the window --- */

static const struct policy_rule *rule_of(const struct actor_env *env, const struct fleet_node *node,
					 const char *check)
{
	const struct policy *policy = env_policy(env);
	const struct policy_subject subject = {
		.check = check,
		.sku = node && node->sku != NAME_NONE ? names_text(&env->fleet->skus, node->sku)
						      : NULL,
	};

	return policy_match(policy, &subject);
}

/* Returns the existing row, or a new one. The caller releases it. */
static struct store_window row_of(const struct actor_env *env, const struct actor_paired *p)
{
	struct store_window *rows = NULL, row = { .since_us = env_real_us(env) };
	int n = store_windows(env->store, p->node, &rows, FLEET_FINDINGS_MAX, NULL), i;

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

static void describe(const struct actor_env *env, const struct actor_paired *p,
		     const struct policy_rule *rule, struct store_window *row)
{
	size_t i;

	row->k = rule ? (unsigned)MIN(rule->k, (uint64_t)WINDOWS_MAX) : 1;
	row->n = rule ? (unsigned)MIN(rule->n, (uint64_t)WINDOWS_MAX) : 1;
	row->last_us = env_real_us(env);
	for (i = 0; i < p->n_passes; i++)
		windows_push(&row->windows, true);
	row->severity = SEVERITY_WARN;
	row->source = SOURCE_PEERS;
	row->score = p->ratio;
	free(row->sentence);
	row->sentence = xstrdup(p->words);
}

static int put_incident(const struct actor_env *env, const struct actor_paired *p,
			const struct policy_rule *rule, const struct store_window *row,
			struct err *err)
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
	return store_put_incident(env->store, &incident, env_real_us(env), err);
}

/* --- results --- */

/* Each pass with a good partner counts as a failed test. */
static void count_passes(const struct actor_env *env, struct fleet_node *node,
			 struct finding *finding, const struct actor_paired *p)
{
	size_t i;

	for (i = 0; i < p->n_passes; i++) {
		const struct fleet_test test = {
			.outcome = TEST_FAILED,
			.finding = finding,
			.partner = p->passes[i].partner,
			.partner_good = p->passes[i].partner_good,
			.at_us = env_real_us(env),
		};

		(void)fleet_tested(env->fleet, node, &test);
	}
}

static int note_bad(const struct actor_env *env, const struct actor_paired *p, struct err *err)
{
	struct fleet_node *node = fleet_find(env->fleet, p->node);
	const struct policy_rule *rule = rule_of(env, node, p->check);
	struct store_window row = row_of(env, p);
	struct finding *finding;
	int r;

	describe(env, p, rule, &row);
	r = store_put_window(env->store, p->node, &row, err);
	if (r == 0)
		r = put_incident(env, p, rule, &row, err);
	store_window_release(&row);
	if (r < 0 || !node)
		return r;
	node_life_load_findings(env, p->node);
	finding = fleet_finding(node, p->check, p->subject);
	if (finding)
		count_passes(env, node, finding, p);
	return node_life_keep(env, node, err);
}

/* Does the row come from tests with other hosts in this check? */
static bool is_of_others(const struct store_window *row, const struct actor_paired *p)
{
	return streq(row->check, p->check) &&
	       (streq(row->subject, p->subject) || starts_with(row->subject, "rail:"));
}

static bool is_bad_alone(const struct store_window *rows, int n, const struct actor_paired *p)
{
	int i = 0;

	while (i < n && !(streq(rows[i].check, p->check) && !is_of_others(&rows[i], p) &&
			  windows_reached(&rows[i].windows, rows[i].k, rows[i].n)))
		i++;
	return i < n;
}

/* All findings of this check from tests with other hosts end. */
static int note_good(const struct actor_env *env, const struct actor_paired *p, struct err *err)
{
	struct fleet_node *node = fleet_find(env->fleet, p->node);
	struct store_window *rows = NULL;
	int n = store_windows(env->store, p->node, &rows, FLEET_FINDINGS_MAX, err), r = 0, i;
	/* Its own runs may have found one of its ports bad in this check: that finding stays. */
	const bool alone = is_bad_alone(rows, n, p);

	for (i = 0; i < n; i++) {
		const bool ours = is_of_others(&rows[i], p);
		struct finding *finding =
			ours && node ? fleet_finding(node, p->check, rows[i].subject) : NULL;
		const struct fleet_test test = { .outcome = TEST_PASSED,
						 .finding = finding,
						 .at_us = env_real_us(env) };

		if (finding)
			(void)fleet_tested(env->fleet, node, &test);
		if (r == 0 && ours)
			r = store_drop_window(env->store, p->node, &rows[i], err);
		if (r == 0 && ours && !alone)
			r = store_close_incident(env->store, p->node, p->check, env_real_us(env),
						 err);
		store_window_release(&rows[i]);
	}
	free(rows);
	if (n < 0 || r < 0)
		return n < 0 ? n : r;
	node_life_load_findings(env, p->node);
	return node ? node_life_keep(env, node, err) : 0;
}

int paired_note(const struct actor_env *env, const struct actor_paired *paired, struct err *err)
{
	const int r = paired->bad ? note_bad(env, paired, err) : note_good(env, paired, err);

	env_news(env);
	env_commit_wanted(env);
	return r;
}
