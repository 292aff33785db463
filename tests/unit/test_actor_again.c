/* SPDX-License-Identifier: Apache-2.0 */
/* What a restart must not change, and what is sent again afterwards. */
#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"
#include "tests/unit/act_world.h"
#include "tests/unit/test.h"

static bool is_out(struct world *w, const char *node)
{
	world_look(w);
	return world_node(w, node)->unschedulable;
}

/* Slow first, given back by a person, and then fatal: the order is older than that. */
static void what_became_fatal_after_an_order_is_that_old_after_a_restart_too(void)
{
	struct world w;

	world_open(&w, "age.db");
	w.policy.total_percent = 0;
	world_wait(&w, USEC_PER_HOUR);
	CHECK_EQ(world_ask(&w, ACT_OVERRIDE,
			   &(struct actor_request){ .node = "n5",
						    .who = "operator eve",
						    .reason = "it is needed",
						    .until_us = w.now_us + USEC_PER_DAY }),
		 200);
	world_wait(&w, USEC_PER_HOUR);
	world_report(&w, "n5", true);
	CHECK(world_run(&w, 0));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE rule = 'fatal' AND state = 5"),
		 1); /* by the budget */
	CHECK_EQ(world_count(&w, "UPDATE windows SET since_us = 1 RETURNING 1"), 1);
	world_kill(&w);
	w.policy.total_percent = 20;
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n5"));
	world_close(&w);
}

static void what_was_fatal_before_an_order_is_so_after_a_restart_too(void)
{
	struct world w;

	world_open(&w, "order.db");
	world_report(&w, "n5", true);
	CHECK(world_run(&w, 0));
	world_wait(&w, USEC_PER_HOUR);
	CHECK_EQ(world_ask(&w, ACT_UNCORDON,
			   &(struct actor_request){
				   .node = "n5", .who = "operator eve", .reason = "it is needed" }),
		 200);
	world_wait(&w, USEC_PER_HOUR);
	world_report(&w, "n5", true);
	CHECK(world_run(&w, 0));
	world_kill(&w);
	world_wait(&w, USEC_PER_HOUR);
	world_report(&w, "n5", true);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n5"));
	world_close(&w);
}

/* Bad, good for a day, bad again: twice it would have been done, or was refused. */
static void what_comes_back_is_told_again(void)
{
	static const struct {
		int mode;
		const char *told;
	} cases[] = {
		{ MODE_DRY_RUN, "SELECT count(*) FROM actions WHERE state = 4" },
		{ MODE_ENFORCE, "SELECT count(*) FROM actions WHERE state = 5" },
	};
	struct world w;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *name = xasprintf("again-%zu.db", i);

		world_open(&w, name);
		w.policy.mode = cases[i].mode;
		w.policy.total_percent = cases[i].mode == MODE_ENFORCE ? 0 : 20;
		for (j = 0; j < 6; j++) {
			world_report(&w, "n1", j % 3 < 2);
			world_wait(&w, USEC_PER_MIN);
			CHECK(world_run(&w, 0));
			CHECK_EQ(world_count(&w, cases[i].told), (long long)(j / 3 + 1));
			world_wait(&w, j % 3 < 2 ? 0 : USEC_PER_DAY);
		}
		world_close(&w);
	}
}

/* The one finding of the fixture, as the policy sees it; NULL: there is none. */
static const struct finding *finding_of(const struct world *w, const char *node)
{
	return fleet_finding(fleet_find(actor_env(w->act)->fleet, node), "rnic.removed", "mlx5_0");
}

static void what_passed_its_tests_is_remembered_after_a_restart(void)
{
	struct world w;
	unsigned times;

	world_open(&w, "returns.db");
	w.policy.rules[0].action = ACTION_RETEST;
	for (times = 1; times <= 2; times++) {
		world_wait(&w, USEC_PER_HOUR);
		world_report(&w, "n2", true);
		CHECK(world_run(&w, 0));
		world_wait(&w, USEC_PER_HOUR);
		CHECK(world_run(&w, 0));
		CHECK(world_answer(&w, "n2", true));
		CHECK(world_run(&w, 0));
		world_kill(&w);
		CHECK(world_run(&w, 0));
		CHECK(finding_of(&w, "n2") && finding_of(&w, "n2")->exonerated == times);
		CHECK(finding_of(&w, "n2") && finding_of(&w, "n2")->windows.n == 0);
	}
	CHECK(!is_out(&w, "n2"));
	/* Long after, it is forgotten: by the policy, and so by the store. */
	world_wait(&w, w.policy.sticky_window_us + USEC_PER_HOUR);
	CHECK(world_run(&w, 0));
	CHECK(!finding_of(&w, "n2"));
	world_kill(&w);
	CHECK(world_run(&w, 0));
	CHECK(!finding_of(&w, "n2"));
	world_close(&w);
}

/* Between two tests of a host there is time for it to show what it is. */
static void when_a_host_was_tested_is_known_after_a_restart(void)
{
	struct world w;
	uint64_t tested_us;

	world_open(&w, "spacing.db");
	w.policy.release_passes = 2;
	world_report(&w, "n7", true);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n7"));
	world_report(&w, "n7", false);
	CHECK(world_run(&w, 0));
	CHECK(world_answer(&w, "n7", true));
	CHECK(world_run(&w, 0));
	tested_us = fleet_find(actor_env(w.act)->fleet, "n7")->record.tested_us;
	CHECK(tested_us > 0);
	world_kill(&w);
	CHECK(world_run(&w, 0));
	CHECK_EQ(fleet_find(actor_env(w.act)->fleet, "n7")->record.tested_us, tested_us);
	CHECK_EQ(fleet_find(actor_env(w.act)->fleet, "n7")->record.passes, 1);
	world_close(&w);
}

static void another_machine_has_to_pass_though_a_kill_follows_its_report(void)
{
	struct world w;

	world_open(&w, "machine.db");
	world_report(&w, "n7", true);
	CHECK(world_run(&w, 0));
	world_report(&w, "n7", false);
	CHECK(world_run(&w, 0));
	CHECK(world_answer(&w, "n7", true));
	CHECK(world_run(&w, 0));
	world_replace(&w, "n7");
	CHECK_EQ(world_count(&w, "SELECT 1"), 1); /* the report is durable, and that is all */
	world_kill(&w);
	world_wait(&w, w.policy.release_delay_us + USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n7"));
	CHECK(world_answer(&w, "n7", true));
	CHECK(world_run(&w, 0));
	world_wait(&w, w.policy.release_delay_us + USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n7"));
	world_close(&w);
}

/* Cordoned by us, and not done in the ledger. */
#define UNBOOKED                                                                          \
	"SELECT count(*) FROM cluster_nodes AS n WHERE mark IS NOT NULL AND NOT EXISTS (" \
	"SELECT 1 FROM cluster_ledger, json_each(text, '$.holders') AS h "                \
	"WHERE h.value ->> 'node' = n.node AND h.value ->> 'done')"

/* Wherever a stop falls, and whether or not a kill was before it: what is done is in the ledger. */
static void what_is_done_at_a_stop_is_in_the_ledger(void)
{
	static const char all[] = "SELECT count(*) FROM actions";
	long long begun, done = 0;
	unsigned commits, killed, i;
	struct world w;

	for (commits = 0; commits < 24; commits++) {
		CLEANUP(freep) char *name = xasprintf("stop-%u.db", commits);

		killed = commits % 3 == 1 ? commits : commits % 3 == 2 ? commits / 2 : 0;
		world_open(&w, name);
		for (i = 1; i <= 3; i++) {
			CLEANUP(freep) char *node = xasprintf("n%u", i);

			world_report(&w, node, true);
		}
		if (killed > 0) {
			(void)world_run(&w, killed);
			world_kill(&w);
		}
		if (commits > killed)
			(void)world_run(&w, commits - killed);
		begun = world_count(&w, all);
		actor_finish(w.act);
		(void)world_run(&w, ACTOR_LAST_COMMITS);
		world_kill(&w);
		CHECK_EQ(world_count(&w, UNBOOKED), 0);
		CHECK_EQ(world_count(&w, all), begun);
		done += world_count(&w,
				    "SELECT count(*) FROM cluster_nodes WHERE mark IS NOT NULL");
		world_close(&w);
	}
	CHECK(done > 24);
}

static void on_said(void *context, const struct actor_reply *said)
{
	*(unsigned *)context = said->status;
}

static unsigned ask_silence(struct world *w, unsigned *ret_status)
{
	const struct actor_request ask = { .node = "n1",
					   .who = "operator eve",
					   .reason = "it is looked into",
					   .until_us = w->now_us + USEC_PER_HOUR };

	*ret_status = 0;
	actor_ask(w->act, ACT_SILENCE, &ask, on_said, ret_status);
	return *ret_status;
}

/* Its node goes, and one of its name comes, or none, before what was ordered is done. */
static void what_is_under_way_on_a_host_outlives_it(void)
{
	unsigned first, second, back;

	for (back = 0; back < 2; back++) {
		struct world w;

		world_open(&w, back ? "comes-back.db" : "outlives.db");
		world_look(&w);
		CHECK_EQ(ask_silence(&w, &first), 0);
		actor_watcher.gone(w.act, "n1");
		actor_watcher.gone(w.act, "n1");
		CHECK_EQ(actor_in_cluster(w.act, "n1"), 0);
		CHECK_EQ(ask_silence(&w, &second), 404);
		if (back) {
			actor_watcher.node(w.act, world_node(&w, "n1"));
			CHECK_EQ(actor_in_cluster(w.act, "n1"), 1);
			CHECK_EQ(ask_silence(&w, &second), 409); /* the first is under way */
		}
		(void)world_run(&w, 0);
		CHECK_EQ(first, 200);
		CHECK_EQ(ask_silence(&w, &second), back ? 0 : 404);
		(void)world_run(&w, 0);
		CHECK_EQ(second, back ? 200 : 404);
		world_close(&w);
	}
}

static const struct test tests[] = {
	TEST(what_is_under_way_on_a_host_outlives_it),
	TEST(what_is_done_at_a_stop_is_in_the_ledger),
	TEST(another_machine_has_to_pass_though_a_kill_follows_its_report),
	TEST(what_became_fatal_after_an_order_is_that_old_after_a_restart_too),
	TEST(what_was_fatal_before_an_order_is_so_after_a_restart_too),
	TEST(what_comes_back_is_told_again),
	TEST(what_passed_its_tests_is_remembered_after_a_restart),
	TEST(when_a_host_was_tested_is_known_after_a_restart),
};

TEST_SUITE(tests);
