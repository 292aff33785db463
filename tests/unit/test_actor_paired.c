/* SPDX-License-Identifier: Apache-2.0 */
/* Results of tests with other hosts become a finding, which the policy treats like any other. */
#include <math.h>
#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"
#include "tests/unit/act_world.h"
#include "tests/unit/test.h"

static const struct actor_pass two[] = { { "n1", true }, { "n2", true } };

static struct actor_paired slow(const char *node, size_t n_passes)
{
	return (struct actor_paired){
		.node = node,
		.bad = true,
		.check = "all_reduce.busbw",
		.subject = "fabric",
		.words = "reaches 50 % of what the others reach, with 2 partners",
		.ratio = 0.5,
		.passes = two,
		.n_passes = n_passes,
	};
}

/* The rules of the default policy that are about it. */
static void open_world(struct world *w, const char *name, int action)
{
	world_open(w, name);
	free(w->policy.rules[0].name);
	free(w->policy.rules[0].severity);
	w->policy.rules[0].name = xstrdup("slow-collective");
	w->policy.rules[0].severity = NULL;
	w->policy.rules[0].check = xstrdup("all_*");
	w->policy.rules[0].k = 2;
	w->policy.rules[0].n = 3;
	w->policy.rules[0].action = action;
	w->policy.retest_times = 2;
}

static bool is_out(struct world *w, const char *node)
{
	world_look(w);
	return world_node(w, node)->unschedulable;
}

static void a_host_named_by_two_good_partners_is_cordoned_with_the_words(void)
{
	const struct actor_paired paired = slow("n5", 2);
	struct world w;

	open_world(&w, "named.db", ACTION_RETEST);
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n5"));
	CHECK(!is_out(&w, "n1") && !is_out(&w, "n2"));
	CHECK_EQ(world_count(
			 &w,
			 "SELECT count(*) FROM incidents WHERE node = 'n5' AND closed_us IS NULL"
			 " AND check_name = 'all_reduce.busbw' AND sentence LIKE '%2 partners%'"),
		 1);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE kind = 0 AND node = 'n5'"
				 " AND reason LIKE '%50 %' AND rule = 'slow-collective'"),
		 1);
	world_close(&w);
}

static void one_pass_or_partners_that_may_be_bad_cordon_nobody(void)
{
	static const struct actor_pass doubtful[] = { { "n1", true }, { "n2", false } };
	struct actor_paired paired = slow("n5", 1);
	struct world w;

	open_world(&w, "once.db", ACTION_RETEST);
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n5"));
	paired = slow("n6", 2);
	paired.passes = doubtful;
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n6"));
	world_close(&w);
}

static void the_budget_holds_for_it_too(void)
{
	const struct actor_paired paired = slow("n5", 2);
	struct world w;

	open_world(&w, "budget.db", ACTION_RETEST);
	w.policy.total_percent = 0;
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n5"));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE node = 'n5' AND state = 5"), 1);
	world_close(&w);
}

static void a_rule_that_only_alerts_takes_nobody_out(void)
{
	const struct actor_paired paired = slow("n5", 2);
	struct world w;

	open_world(&w, "alert.db", ACTION_ALERT);
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n5"));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM incidents WHERE node = 'n5'"), 1);
	world_close(&w);
}

static void it_outlives_reports_and_a_restart_and_ends_with_a_good_test(void)
{
	const struct actor_paired paired = slow("n5", 2);
	const struct actor_paired good = { .node = "n5",
					   .check = "all_reduce.busbw",
					   .subject = "fabric",
					   .words = "no group with it was slow",
					   .ratio = NAN };
	const struct finding *finding;
	struct world w;

	open_world(&w, "outlives.db", ACTION_RETEST);
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	CHECK(world_run(&w, 0));
	world_report(&w, "n5", false);
	CHECK(world_run(&w, 0));
	world_kill(&w);
	CHECK(world_run(&w, 0));
	CHECK(fleet_finding(fleet_find(actor_env(w.act)->fleet, "n5"), "all_reduce.busbw",
			    "fabric") != NULL);
	CHECK_EQ(actor_paired(w.act, &good, NULL), 0);
	CHECK(world_run(&w, 0));
	/* That it was exonerated is remembered; nothing of it is bad. */
	finding = fleet_finding(fleet_find(actor_env(w.act)->fleet, "n5"), "all_reduce.busbw",
				"fabric");
	CHECK(!finding || (finding->windows.n == 0 && finding->reproduced == 0));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM windows WHERE node = 'n5'"), 0);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM incidents WHERE closed_us IS NULL"), 0);
	world_close(&w);
}

static void a_good_test_with_others_ends_nothing_that_its_own_runs_found(void)
{
	struct store_window own = { .check = xstrdup("rnic_pair.write_bw"),
				    .subject = xstrdup("mlx5_0:1>mlx5_1:1"),
				    .k = 1,
				    .n = 1 };
	struct actor_paired paired = slow("n5", 2);
	struct world w;

	open_world(&w, "own.db", ACTION_RETEST);
	windows_push(&own.windows, true);
	CHECK_EQ(store_put_window(w.store, "n5", &own, NULL), 0);
	paired.check = "rnic_pair.write_bw";
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	paired.bad = false;
	paired.n_passes = 0;
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	CHECK(world_run(&w, 0));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM windows WHERE node = 'n5'"), 1);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM incidents WHERE closed_us IS NULL"), 1);
	store_window_release(&own);
	world_close(&w);
}

static void nobody_is_asked_while_the_cluster_may_be_another(void)
{
	static const char words[] = "the watch was cut";
	struct world w;

	world_open(&w, "stale-paired.db");
	CHECK(actor_knows(w.act));
	CHECK(!actor_in_use(w.act, "n1"));
	actor_watcher.stale(w.act, words);
	CHECK(actor_knows(w.act));
	CHECK_HAS(actor_in_use(w.act, "n1"), words);
	CHECK_HAS(actor_in_use(w.act, "stranger"), words);
	actor_watcher.stale(w.act, NULL);
	CHECK(!actor_in_use(w.act, "n1"));
	world_close(&w);
}

static void a_host_that_is_no_node_has_its_incident_and_nothing_more(void)
{
	const struct actor_paired paired = slow("stranger", 2);
	struct world w;

	open_world(&w, "stranger.db", ACTION_RETEST);
	CHECK_EQ(actor_paired(w.act, &paired, NULL), 0);
	CHECK(world_run(&w, 0));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM incidents WHERE node = 'stranger'"), 1);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions"), 0);
	CHECK(!actor_in_use(w.act, "stranger"));
	world_close(&w);
}

static const struct test tests[] = {
	TEST(a_host_named_by_two_good_partners_is_cordoned_with_the_words),
	TEST(one_pass_or_partners_that_may_be_bad_cordon_nobody),
	TEST(the_budget_holds_for_it_too),
	TEST(a_rule_that_only_alerts_takes_nobody_out),
	TEST(it_outlives_reports_and_a_restart_and_ends_with_a_good_test),
	TEST(a_good_test_with_others_ends_nothing_that_its_own_runs_found),
	TEST(nobody_is_asked_while_the_cluster_may_be_another),
	TEST(a_host_that_is_no_node_has_its_incident_and_nothing_more),
};

TEST_SUITE(tests);
