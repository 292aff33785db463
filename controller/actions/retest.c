/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/retest.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/node_life.h"
#include "controller/actions/node_views.h"
#include "controller/actions/out_of_band.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/bad_run.h"
#include "lib/policy/blame.h"
#include "lib/policy/decide.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"
#include "lib/policy/rungs.h"
#include "lib/report/report.h"

/* A host that has not taken its order is offered it again after this; it runs an order once. */
#define OFFER_AGAIN_US (60 * USEC_PER_SEC)

#define ORDER_PREFIX "test-"

const char *const retest_words[] = { "it passed", "it failed again", "it brought nothing" };

static char *order_id_of(const struct action *test)
{
	return xasprintf(ORDER_PREFIX "%" PRId64, test->id);
}

struct action *retest_by_order(const struct actor_env *env, const char *node, const char *order_id)
{
	struct action *test = actions_test_of(node_views_find(env->views, node));
	CLEANUP(freep) char *id = test ? order_id_of(test) : NULL;

	return test && streq(id, order_id) ? test : NULL;
}

static bool is_offered(const struct actor_env *env, const struct action *test)
{
	return test->offered_us && env_mono_us(env) - test->offered_us < OFFER_AGAIN_US;
}

json_t *retest_order(const struct actor_env *env, const char *node)
{
	struct action *test = actions_test_of(node_views_find(env->views, node));
	CLEANUP(freep) char *id = NULL;
	char deadline[CLOCK_STAMP_SIZE], now[CLOCK_STAMP_SIZE];

	/* Tests with a partner belong to a campaign: retest_wants_others(). */
	if (!test || test->partner || env->stage != STAGE_ACTING || is_offered(env, test))
		return NULL;
	test->offered_us = env_mono_us(env);
	id = order_id_of(test);
	clock_stamp(env_real_us(env), now);
	clock_stamp(test->decided_us + env_policy(env)->retest_timeout_us, deadline);
	/* An agent without rungs runs the profile full, which covers more. */
	return json_pack("{s:s, s:s, s:s, s:s, s:s*}", "id", id, "kind", "deep", "now", now,
			 "deadline", deadline, "profile", test->profile);
}

bool retest_wants_others(const struct actor_env *env, struct actor_wanted *ret)
{
	struct action *a;

	for (a = env->stage == STAGE_ACTING ? env->actions->first : NULL; a; a = a->next) {
		if (a->phase != PHASE_TEST || !a->partner || a->resumed || is_offered(env, a))
			continue;
		*ret = (struct actor_wanted){ a->node, a->partner, a->check, a->offered_us == 0 };
		a->offered_us = env_mono_us(env);
		return true;
	}
	return false;
}

/* --- the result of a run --- */

static int level_outcome(int level)
{
	if (level == VERDICT_INCONCLUSIVE)
		return TEST_NOTHING;
	return level == VERDICT_PASS ? TEST_PASSED : TEST_FAILED;
}

/* Returns the run's result for the finding that it was to reproduce. */
static int item_outcome(const struct verdict *run, const struct action *test)
{
	int outcome = TEST_NOTHING;
	size_t i;

	if (!test->check)
		return level_outcome(run->level);
	for (i = 0; i < run->n_items; i++) {
		if (streq(run->items[i].check, test->check) &&
		    streq(run->items[i].subject, test->subject))
			return level_outcome(run->items[i].level);
		/* Slow links and events have an item only while they are bad. */
		if (streq(run->items[i].check, test->check))
			outcome = TEST_PASSED;
	}
	return outcome;
}

/*
 * Was it bad again, as the windows count? A warning by one of three references is no reproduction.
 */
static bool was_bad(const struct actor_env *env, const char *node, const struct action *test)
{
	struct store_window *rows = NULL;
	int n = store_windows(env->store, node, &rows, FLEET_FINDINGS_MAX, NULL), i;
	bool bad = false;

	for (i = 0; i < n; i++) {
		if (streq(rows[i].check, test->check) && streq(rows[i].subject, test->subject))
			bad = windows_bad(&rows[i].windows, 1) > 0;
		store_window_release(&rows[i]);
	}
	free(rows);
	return bad;
}

int retest_outcome(const struct actor_env *env, const struct report *report,
		   const struct action *test)
{
	CLEANUP(pool_release) struct pool pool = { 0 };
	struct verdict runs[STORE_RUNS_MAX];
	int n = store_runs(env->store, report->node, &pool, runs, NULL);
	int outcome = TEST_NOTHING, i;
	bool found = false;

	for (i = 0; i < n; i++) {
		if (!found && streq(runs[i].profile, report->profile)) {
			outcome = item_outcome(&runs[i], test);
			found = true;
		}
		verdict_release(&runs[i]);
	}
	if (outcome == TEST_FAILED && test->check && !was_bad(env, report->node, test))
		outcome = TEST_PASSED;
	return outcome;
}

/* --- the end --- */

/* An event ends only after a quiet period: its incident stays open. */
static void quieten_event(const struct actor_env *env, const struct action *test)
{
	struct store_window *rows = NULL;
	int n = store_windows(env->store, test->node, &rows, FLEET_FINDINGS_MAX, NULL), i;

	for (i = 0; i < n; i++) {
		if (streq(rows[i].check, test->check) && streq(rows[i].subject, test->subject)) {
			rows[i].windows = (struct windows){ 0 };
			(void)store_put_window(env->store, test->node, &rows[i], NULL);
		}
		store_window_release(&rows[i]);
	}
	free(rows);
}

/* It passed: clear its windows, and its row in the store. */
static void forget_window(const struct actor_env *env, const struct action *test)
{
	const struct store_window row = { .check = test->check, .subject = test->subject };

	if (bad_run_is_event(test->check)) {
		quieten_event(env, test);
		return;
	}
	(void)store_drop_window(env->store, test->node, &row, NULL);
	(void)store_close_incident(env->store, test->node, test->check, env_real_us(env), NULL);
}

static void note_state(const struct actor_env *env, const struct fleet_node *node, int before,
		       int outcome, const char *why)
{
	const struct life_change change = {
		.from = before,
		.to = node->record.life.state,
		.event = outcome == TEST_PASSED ? EVENT_CLEARED : EVENT_VERIFY_FAILED,
		.at_us = env_real_us(env),
		.who = WHO_AUTOMATIC,
		.why = why,
	};

	if (node->record.life.state != before)
		node_life_note_change(env, node->name, &change);
}

void retest_ran(const struct actor_env *env, struct action *test, const char *profile)
{
	const char *ran = rungs_find(profile);

	if (test->check || !ran || streq(ran, test->profile ? test->profile : RUNGS_WHOLE))
		return;
	free(test->profile);
	test->profile = xstrdup(ran);
	(void)store_set_action_profile(env->store, test->id, ran, NULL);
}

/* Count the result if the finding that it was ordered for still exists. */
static void count(const struct actor_env *env, struct action *test, struct fleet_node *node,
		  const struct fleet_test *result, const char *words)
{
	const int before = node->record.life.state;
	const bool over = fleet_tested(env->fleet, node, result);

	note_state(env, node, before, result->outcome, words);
	if (over)
		forget_window(env, test);
	(void)node_life_keep(env, node, NULL);
}

void retest_answered(const struct actor_env *env, struct action *test, int outcome, bool deep)
{
	struct fleet_node *node = fleet_find(env->fleet, test->node);
	const char *words = retest_words[outcome];
	const struct fleet_test result = {
		.outcome = outcome,
		.finding = node && test->check ? fleet_finding(node, test->check, test->subject)
					       : NULL,
		.partner = test->partner,
		.partner_good = test->partner != NULL,
		.deep = deep,
		.at_us = env_real_us(env),
	};

	env->counts->tests_answered += outcome != TEST_NOTHING;
	env->counts->tests_lost += outcome == TEST_NOTHING;
	if (node && (result.finding || !test->check))
		count(env, test, node, &result, words);
	else if (node)
		node->record.ordered_us = 0;
	action_end(env, test, outcome == TEST_NOTHING ? ACTION_FAILED : ACTION_DONE, 200, words);
	out_of_band_look(env, test->host);
}

void retest_answered_with_others(const struct actor_env *env, const char *node, int outcome)
{
	struct action *test = actions_test_of(node_views_find(env->views, node));

	if (test && test->partner && env->stage == STAGE_ACTING)
		retest_answered(env, test, outcome, false);
}

void retest_drop(const struct actor_env *env, const struct node_view *host)
{
	struct action *test = actions_test_of(host);

	if (test)
		action_end(env, test, ACTION_DROPPED, 404, "the node is gone");
}

/* It was ordered for a job, and no job blames the host any more. */
static bool is_unwanted(const struct actor_env *env, const struct action *test,
			const struct fleet_node *node)
{
	return env->blames_told && streq(test->rule, DECIDE_BLAMED_RULE) &&
	       !blame_holds(&node->blame, env_real_us(env));
}

void retest_end_late(const struct actor_env *env)
{
	const uint64_t timeout_us = env_policy(env)->retest_timeout_us;
	struct action *a;

	for (a = env->actions->first; a; a = a->next) {
		struct fleet_node *node = fleet_find(env->fleet, a->node);

		if (a->phase != PHASE_TEST || a->resumed || !node)
			continue;
		if (is_unwanted(env, a, node)) {
			node->record.ordered_us = 0;
			(void)node_life_keep(env, node, NULL);
			action_end(env, a, ACTION_DROPPED, 409, "no job needs it any more");
		} else if (node->record.ordered_us == 0)
			action_end(env, a, ACTION_DROPPED, 409, "it is no longer needed");
		else if (env_real_us(env) - a->decided_us > timeout_us)
			retest_answered(env, a, TEST_NOTHING, false);
	}
}
