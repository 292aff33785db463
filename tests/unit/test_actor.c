/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/embedded/cluster_embedded.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/policy/blame.h"
#include "tests/unit/act_world.h"
#include "tests/unit/test.h"

static struct actor_request order(const char *node, const char *reason)
{
	return (struct actor_request){ .node = node, .who = "operator eve", .reason = reason };
}

static unsigned ask(struct world *w, enum action_kind kind, const char *node)
{
	const struct actor_request a = order(node, "because");

	return world_ask(w, kind, &a);
}

static bool is_out(struct world *w, const char *node)
{
	world_look(w);
	return world_node(w, node)->unschedulable;
}

static const char *state_of(struct world *w, const char *node)
{
	static char text[32];
	json_t *value = actor_node_json(w->act, node);

	(void)snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(value, "state")));
	json_decref(value);
	return text;
}

static void what_is_bad_by_itself_is_cordoned_once_and_recorded(void)
{
	struct world w;

	world_open(&w, "once.db");
	world_report(&w, "n3", true);
	CHECK_EQ(w.looks, 0);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n3"));
	CHECK_EQ(w.looks, 1); /* its agent is woken, once */
	world_report(&w, "n3", true);
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions"), 1);
	CHECK_EQ(world_count(&w, "SELECT state FROM actions"), ACTION_DONE);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM transitions WHERE event = 'cordoned'"), 1);
	CHECK_EQ(actor_counts(w.act).cordoned, 1);
	CHECK_EQ(actor_counts(w.act).budget_used, 1);
	CHECK_STR(state_of(&w, "n3"), "cordoned");
	world_close(&w);
}

static void in_observe_nothing_is_done_and_in_dry_run_it_is_only_written_down(void)
{
	struct world w;

	world_open(&w, "modes.db");
	w.policy.mode = MODE_OBSERVE;
	world_report(&w, "n1", true);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n1"));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions"), 0);
	w.policy.mode = MODE_DRY_RUN;
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n1"));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE state = 4"), 1);
	/* Only a query to the cluster was made. */
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE state = 4 AND result LIKE "
				 "'%would accept it'"),
		 1);
	CHECK_EQ(
		world_count(&w, "SELECT count(*) FROM cluster_events WHERE reason = 'AssayDryRun'"),
		1);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM cluster_nodes WHERE unschedulable"), 0);
	world_close(&w);
}

static void no_more_than_the_budget_and_the_refusal_is_told_once(void)
{
	struct world w;
	unsigned i;

	world_open(&w, "budget.db");
	for (i = 0; i < 8; i++) {
		CLEANUP(freep) char *node = xasprintf("n%u", i);

		world_report(&w, node, true);
	}
	CHECK(world_run(&w, 0));
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK_EQ(actor_counts(w.act).cordoned, 4); /* 20 % of 20 */
	CHECK_EQ(actor_counts(w.act).budget_limit, 4);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE state = 5"), 4);
	CHECK_EQ(world_count(&w,
			     "SELECT count(*) FROM cluster_events WHERE reason = 'AssayRefused'"),
		 4);
	world_close(&w);
}

static void anothers_cordon_counts_and_is_never_lifted(void)
{
	struct world w;
	unsigned i;

	world_open(&w, "others.db");
	for (i = 10; i < 13; i++) {
		CLEANUP(freep) char *node = xasprintf("n%u", i);

		CHECK_EQ(cluster_embedded_touch(w.cluster, node, true, NULL), 0);
	}
	CHECK(world_run(&w, 0));
	world_report(&w, "n1", true);
	world_report(&w, "n2", true);
	world_report(&w, "n10", true);
	CHECK(world_run(&w, 0));
	CHECK_EQ(actor_counts(w.act).cordoned, 1); /* three of the four belong to others */
	CHECK_EQ(ask(&w, ACT_UNCORDON, "n10"), 409);
	CHECK(is_out(&w, "n10"));
	CHECK(!world_node(&w, "n10")->mark);
	world_close(&w);
}

/* A concurrent change between the decision and the cordon does not use up the rate. */
static void a_node_that_keeps_changing_costs_no_rate(void)
{
	struct world w;
	unsigned i;

	world_open(&w, "changing.db");
	world_report(&w, "n3", true);
	for (i = 0; i < 6 && actor_counts(w.act).conflicts < 2; i++) {
		(void)world_run(&w, 1);
		CHECK_EQ(cluster_embedded_touch(w.cluster, "n3", false, NULL), 0);
	}
	CHECK(actor_counts(w.act).conflicts > 0);
	for (i = 0; i < 5; i++) { /* a change it has not seen yet may cause another conflict */
		world_wait(&w, 10 * USEC_PER_SEC);
		CHECK(world_run(&w, 0));
	}
	CHECK_EQ(actor_counts(w.act).cordoned, 1);
	CHECK_EQ(actor_counts(w.act).rate_used, 1);
	world_close(&w);
}

static void an_uncordon_by_hand_is_an_order_and_our_marks_go(void)
{
	struct world w;

	world_open(&w, "hand.db");
	world_report(&w, "n5", true);
	CHECK(world_run(&w, 0));
	CHECK_EQ(cluster_embedded_touch(w.cluster, "n5", false, NULL), 0);
	CHECK(world_run(&w, 0));
	world_wait(&w, USEC_PER_HOUR);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n5"));
	CHECK(!world_node(&w, "n5")->mark);
	CHECK(world_node(&w, "n5")->override_us > w.now_us);
	CHECK_STR(state_of(&w, "n5"), "suspected"); /* the finding still stands */
	CHECK_EQ(actor_counts(w.act).cordoned, 0);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE kind = 0 AND state = 1"), 1);
	world_close(&w);
}

static void a_host_comes_back_when_it_is_good_and_its_test_has_passed(void)
{
	struct world w;
	unsigned i;

	world_open(&w, "back.db");
	world_report(&w, "n7", true);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n7"));
	world_report(&w, "n7", false);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n7")); /* not at once, and not without a test */
	world_wait(&w, w.policy.release_delay_us + USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n7"));
	for (i = 0; i < w.policy.release_passes; i++) {
		CHECK(world_answer(&w, "n7", true));
		CHECK(world_run(&w, 0));
		world_wait(&w, w.policy.release_delay_us + USEC_PER_MIN);
		CHECK(world_run(&w, 0));
	}
	CHECK(!is_out(&w, "n7"));
	CHECK_STR(state_of(&w, "n7"), "released");
	world_close(&w);
}

static void a_release_that_waits_for_the_delay_alone_comes_when_it_is_over(void)
{
	struct world w;
	unsigned i;

	world_open(&w, "soon.db");
	w.policy.release_delay_us = 2 * USEC_PER_MIN + 8 * USEC_PER_SEC; /* a test takes 2 min */
	w.policy.retest_spacing_us = 0;
	world_report(&w, "n7", true);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n7"));
	world_report(&w, "n7", false);
	CHECK(world_run(&w, 0));
	for (i = 0; i < w.policy.release_passes; i++) {
		CHECK(world_answer(&w, "n7", true));
		CHECK(world_run(&w, 0));
	}
	world_wait(&w, 2 * USEC_PER_SEC);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n7")); /* all tests passed, but the delay is not over */
	world_wait(&w, 6 * USEC_PER_SEC);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n7"));
	world_close(&w);
}

static void a_persons_cordon_is_lifted_by_a_person(void)
{
	struct world w;

	world_open(&w, "person.db");
	CHECK_EQ(ask(&w, ACT_CORDON, "n2"), 200);
	CHECK(is_out(&w, "n2"));
	CHECK_STR(world_node(&w, "n2")->mark->by, "operator eve");
	CHECK_EQ(ask(&w, ACT_CORDON, "n2"), 409);
	world_wait(&w, 2 * USEC_PER_DAY);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n2"));
	CHECK(!world_answer(&w, "n2", true));
	CHECK_EQ(ask(&w, ACT_UNCORDON, "n2"), 200);
	CHECK(!is_out(&w, "n2"));
	CHECK_EQ(ask(&w, ACT_UNCORDON, "n2"), 409);
	CHECK_EQ(ask(&w, ACT_CORDON, "nowhere"), 404);
	world_close(&w);
}

static void a_broken_glass_goes_beyond_the_budget_and_says_so(void)
{
	struct actor_request a = order("n9", "it burns");
	struct world w;

	world_open(&w, "glass.db");
	w.policy.total_percent = 0;
	CHECK_EQ(world_ask(&w, ACT_CORDON, &a), 409);
	CHECK_EQ(world_count(
			 &w,
			 "SELECT count(*) FROM actions WHERE state = 5 AND rule = 'budget.total'"),
		 1);
	a.break_glass = true;
	CHECK_EQ(world_ask(&w, ACT_CORDON, &a), 200);
	CHECK_EQ(world_count(&w, "SELECT break_glass FROM actions WHERE state = 1"), 1);
	world_close(&w);
}

static void every_refusal_names_its_rule(void)
{
	struct actor_request a = order("n1", "");
	struct world w;

	world_open(&w, "rules.db");
	CHECK_EQ(world_ask(&w, ACT_CORDON, &a), 422);
	CHECK_EQ(ask(&w, ACT_REPAIR_DONE, "n1"), 409);
	CHECK_EQ(ask(&w, ACT_EVICT, "n1"), 422);
	world_close(&w);
}

/* Its state is dropped together with its findings, and only then. */
static void who_keeps_what_hosts_were_like_hears_of_a_repair(void)
{
	struct world w;

	world_open(&w, "repaired.db");
	world_report(&w, "n1", true);
	CHECK(world_run(&w, 0));
	CHECK_EQ(w.repaired, 0);
	CHECK_EQ(ask(&w, ACT_REPAIR_DONE, "n1"), 200);
	CHECK_EQ(w.repaired, 1);
	world_close(&w);
}

static void a_reset_closes_the_breaker_and_it_is_remembered(void)
{
	struct world w;
	unsigned i;

	world_open(&w, "breaker.db");
	w.policy.storm_cordons = 2;
	for (i = 0; i < 5; i++) {
		CLEANUP(freep) char *node = xasprintf("n%u", i);

		world_report(&w, node, true);
	}
	CHECK(world_run(&w, 0));
	CHECK(actor_counts(w.act).breaker_open);
	CHECK_EQ(actor_counts(w.act).cordoned, 0);
	world_kill(&w);
	CHECK(world_run(&w, 0));
	CHECK(actor_counts(w.act).breaker_open);
	CHECK_EQ(ask(&w, ACT_BREAKER_RESET, NULL), 200);
	CHECK(!actor_counts(w.act).breaker_open);
	world_kill(&w);
	CHECK(world_run(&w, 0));
	CHECK(!actor_counts(w.act).breaker_open);
	world_close(&w);
}

static void whoever_finds_a_higher_epoch_touches_nothing_more(void)
{
	struct world w;

	world_open(&w, "epoch.db");
	CHECK(world_count(&w, "UPDATE cluster_ledger SET version = version + 1, text ="
			      " replace(text, '\"epoch\":1', '\"epoch\":9') RETURNING 1") == 1);
	world_report(&w, "n4", true);
	CHECK(world_run(&w, 0));
	CHECK(actor_counts(w.act).fenced);
	CHECK(!is_out(&w, "n4"));
	CHECK_EQ(ask(&w, ACT_CORDON, "n6"), 503);
	world_close(&w);
}

static void what_is_under_way_counts_for_the_budget(void)
{
	struct world w;
	unsigned i;

	world_open(&w, "under-way.db");
	for (i = 0; i < 12; i++) {
		CLEANUP(freep) char *node = xasprintf("n%u", i);

		world_report(&w, node, true);
		(void)world_run(&w, 1); /* the previous one is not done yet */
	}
	CHECK(world_run(&w, 0));
	CHECK_EQ(actor_counts(w.act).cordoned, 4);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM cluster_nodes WHERE unschedulable"), 4);
	world_close(&w);
}

static void our_mark_taken_off_by_hand_is_an_order_too(void)
{
	struct world w;

	world_open(&w, "mark.db");
	world_report(&w, "n5", true);
	CHECK(world_run(&w, 0));
	CHECK_EQ(world_count(&w, "UPDATE cluster_nodes SET mark = NULL, unschedulable = 0"
				 " WHERE node = 'n5' RETURNING 1"),
		 1);
	world_kill(&w);
	CHECK(world_run(&w, 0));
	world_wait(&w, USEC_PER_HOUR);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n5"));
	CHECK_EQ(actor_counts(w.act).cordoned, 0);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM transitions WHERE event = 'uncordoned'"), 1);
	CHECK_EQ(world_count(&w, "SELECT json_array_length(text, '$.holders') FROM cluster_ledger"),
		 0);
	world_close(&w);
}

static void a_cordon_that_was_theirs_before_stays_when_our_mark_goes(void)
{
	struct actor_request a = order("n8", "both of us");
	struct world w;

	world_open(&w, "pre.db");
	CHECK_EQ(cluster_embedded_touch(w.cluster, "n8", true, NULL), 0);
	CHECK(world_run(&w, 0));
	a.break_glass = true;
	CHECK_EQ(world_ask(&w, ACT_CORDON, &a), 200);
	world_look(&w);
	CHECK(world_node(&w, "n8")->mark->pre);
	CHECK_EQ(ask(&w, ACT_UNCORDON, "n8"), 200);
	CHECK(is_out(&w, "n8"));
	CHECK(!world_node(&w, "n8")->mark);
	world_close(&w);
}

/* While this controller is not there; then it starts. */
static void a_twin_cordons(struct world *w, const char *at, bool sticky)
{
	CLEANUP(freep)
	char *sql =
		xasprintf("UPDATE cluster_nodes SET unschedulable = 1, mark ="
			  " '{\"v\":1,\"by\":\"assay\",\"reason\":\"a twin did it\",\"at\":"
			  "\"1972-09-27T%sZ\",\"action\":\"77\",\"sticky\":%s}' WHERE node = 'n6' "
			  "RETURNING 1",
			  at, sticky ? "true" : "false");

	CHECK_EQ(world_count(w, sql), 1);
	world_kill(w);
	CHECK(world_run(w, 0));
}

static long long happened(struct world *w, const char *event)
{
	CLEANUP(freep)
	char *sql = xasprintf("SELECT count(*) FROM transitions WHERE node = 'n6' AND event = '%s'",
			      event);

	return world_count(w, sql);
}

static void a_cordon_that_another_set_anew_is_not_the_one_we_know(void)
{
	struct world w;

	world_open(&w, "anew.db");
	a_twin_cordons(&w, "00:00:00", false);
	CHECK_EQ(happened(&w, "cordoned"), 1);
	a_twin_cordons(&w, "00:00:00", false); /* the same */
	CHECK_EQ(happened(&w, "cordoned"), 1);
	CHECK_EQ(happened(&w, "released"), 0);
	a_twin_cordons(&w, "00:00:01", true);
	CHECK_EQ(happened(&w, "released"), 1);
	CHECK_EQ(happened(&w, "cordoned-sticky"), 1);
	a_twin_cordons(&w, "00:00:02", false); /* from now on only a person can return it */
	CHECK_EQ(happened(&w, "released"), 1);
	CHECK_EQ(happened(&w, "cordoned"), 1);
	CHECK_EQ(actor_counts(w.act).budget_used, 1);
	world_close(&w);
}

static void a_cordon_of_ours_that_nobody_recorded_is_recorded(void)
{
	struct world w;

	world_open(&w, "adopt.db");
	a_twin_cordons(&w, "00:00:00", false);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM transitions WHERE node = 'n6' AND"
				 " event = 'cordoned'"),
		 1);
	CHECK_EQ(actor_counts(w.act).budget_used, 1);
	CHECK_EQ(world_count(&w, "SELECT json_array_length(text, '$.holders') FROM cluster_ledger"),
		 1);
	world_close(&w);
}

/* Commits every 50 ms while one is needed, without ticks. Returns how many. */
static unsigned run_without_ticks(struct world *w)
{
	unsigned n;

	for (n = 0; (w->touched || store_dirty(w->store)) && n < 100; n++) {
		w->touched = false;
		CHECK_EQ(store_commit(w->store, NULL), 0);
		cluster_embedded_committed(w->cluster, false);
		w->now_us += 50 * USEC_PER_MSEC;
		actor_committed(w->act);
	}
	return n;
}

static void blame(struct world *w, const char *node)
{
	actor_blame(w->act, node,
		    &(struct blame){ .class = BLAME_COMPUTE,
				     .reach = BLAME_TO_TEST,
				     .job = (char *)(uintptr_t) "llm-7",
				     .since_us = w->now_us,
				     .until_us = w->now_us + USEC_PER_HOUR });
}

static long long count_tests(struct world *w, const char *node)
{
	CLEANUP(freep)
	char *sql = xasprintf("SELECT count(*) FROM actions WHERE node = '%s' AND kind = %d", node,
			      ACT_RETEST);

	return world_count(w, sql);
}

static void what_a_job_says_waits_for_no_tick(void)
{
	struct world w;

	world_open(&w, "no-tick-blamed.db");
	w.touched = false;
	blame(&w, "n3");
	CHECK(run_without_ticks(&w) < 20);
	CHECK_EQ(count_tests(&w, "n3"), 1);
	world_close(&w);
}

static void an_agent_that_waits_is_told_of_its_test_at_once(void)
{
	struct world w;

	world_open(&w, "waits.db");
	w.waits = true;
	blame(&w, "n3");
	CHECK(world_run(&w, 0));
	CHECK_EQ(count_tests(&w, "n3"), 1);
	CHECK_STR(json_string_value(json_object_get(w.order, "kind")), "deep");
	world_close(&w);
}

static void what_comes_right_after_a_decision_waits_for_no_tick(void)
{
	struct world w;

	world_open(&w, "no-tick-soon.db");
	world_wait(&w, USEC_PER_SEC);
	blame(&w, "n3");
	actor_committed(w.act); /* decided now, and not again at the same time */
	w.touched = false;
	blame(&w, "n4");
	w.touched = false; /* that commit comes too soon */
	world_wait(&w, USEC_PER_MSEC);
	actor_committed(w.act);
	CHECK(w.touched);
	CHECK(run_without_ticks(&w) < 20);
	CHECK_EQ(count_tests(&w, "n4"), 1);
	world_close(&w);
}

static const struct test tests[] = {
	TEST(what_is_bad_by_itself_is_cordoned_once_and_recorded),
	TEST(in_observe_nothing_is_done_and_in_dry_run_it_is_only_written_down),
	TEST(no_more_than_the_budget_and_the_refusal_is_told_once),
	TEST(anothers_cordon_counts_and_is_never_lifted),
	TEST(a_node_that_keeps_changing_costs_no_rate),
	TEST(an_uncordon_by_hand_is_an_order_and_our_marks_go),
	TEST(a_host_comes_back_when_it_is_good_and_its_test_has_passed),
	TEST(a_release_that_waits_for_the_delay_alone_comes_when_it_is_over),
	TEST(a_persons_cordon_is_lifted_by_a_person),
	TEST(a_broken_glass_goes_beyond_the_budget_and_says_so),
	TEST(every_refusal_names_its_rule),
	TEST(who_keeps_what_hosts_were_like_hears_of_a_repair),
	TEST(a_reset_closes_the_breaker_and_it_is_remembered),
	TEST(what_is_under_way_counts_for_the_budget),
	TEST(our_mark_taken_off_by_hand_is_an_order_too),
	TEST(a_cordon_that_was_theirs_before_stays_when_our_mark_goes),
	TEST(a_cordon_of_ours_that_nobody_recorded_is_recorded),
	TEST(a_cordon_that_another_set_anew_is_not_the_one_we_know),
	TEST(whoever_finds_a_higher_epoch_touches_nothing_more),
	TEST(what_a_job_says_waits_for_no_tick),
	TEST(an_agent_that_waits_is_told_of_its_test_at_once),
	TEST(what_comes_right_after_a_decision_waits_for_no_tick),
};

TEST_SUITE(tests);
