/* SPDX-License-Identifier: Apache-2.0 */
/* Findings reproduced by tests, and causes shared by hosts. */
#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "tests/unit/act_world.h"
#include "tests/unit/test.h"

static bool is_out(struct world *w, const char *node)
{
	world_look(w);
	return world_node(w, node)->unschedulable;
}

static bool is_let_in(struct world *w, const char *node)
{
	CLEANUP(freep) char *why = actor_let_in(w->act, node);

	if (why)
		CHECK_HAS(why, "budget.deny");
	return why != NULL;
}

static void what_too_many_hosts_refuse_jobs_for_is_let_in(void)
{
	static const char standing[] = "SELECT count(*) FROM incidents WHERE node = "
				       "'fleet:admissions' AND closed_us IS NULL";
	struct world w;
	unsigned i, times, n_let_in = 0;

	world_open(&w, "deny.db");
	w.policy.mode = MODE_OBSERVE; /* a host refuses by itself, whatever the controller may do */
	for (i = 0; i < 8; i++) {
		CLEANUP(freep) char *node = xasprintf("n%u", i);

		world_report(&w, node, true);
	}
	CHECK(world_run(&w, 0));
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	for (i = 0; i < 8; i++) {
		CLEANUP(freep) char *node = xasprintf("n%u", i);

		n_let_in += is_let_in(&w, node);
	}
	CHECK_EQ(n_let_in, 8 - w.policy.deny_nodes);
	CHECK_EQ(actor_counts(w.act).let_in, n_let_in);
	CHECK(!is_let_in(&w, "n12"));
	CHECK_EQ(world_count(&w, standing), 1);
	for (times = 0; times < 4; times++) { /* until their windows are good */
		for (i = 0; i < 8; i++) {
			CLEANUP(freep) char *node = xasprintf("n%u", i);

			world_report(&w, node, false);
		}
		world_wait(&w, USEC_PER_MIN);
		CHECK(world_run(&w, 0));
	}
	CHECK_EQ(actor_counts(w.act).let_in, 0);
	CHECK_EQ(world_count(&w, standing), 0);
	world_close(&w);
}

static void what_a_test_finds_again_is_cordoned_and_what_it_does_not_is_not(void)
{
	static const bool again[] = { true, false };
	struct world w;
	size_t i, times;

	for (i = 0; i < ARRAY_SIZE(again); i++) {
		world_open(&w, again[i] ? "again.db" : "not-again.db");
		w.policy.rules[0].action = ACTION_RETEST;
		world_report(&w, "n2", true);
		CHECK(world_run(&w, 0));
		for (times = 0; times < w.policy.retest_times; times++) {
			world_wait(&w, USEC_PER_HOUR);
			CHECK(world_run(&w, 0));
			CHECK(!is_out(&w, "n2"));
			if (again[i])
				CHECK(world_answer(&w, "n2", false));
			else
				CHECK_EQ(world_answer_weakly(&w, "n2"), times == 0);
			CHECK(world_run(&w, 0));
		}
		CHECK_EQ(is_out(&w, "n2"), again[i]);
		CHECK_EQ(actor_counts(w.act).tests_answered, again[i] ? times : 1);
		world_close(&w);
	}
}

static void a_file_that_half_of_the_hosts_contradict_opens_the_breaker(void)
{
	struct world w;

	world_open(&w, "file.db");
	w.wrong_file = "hgx";
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK(actor_counts(w.act).breaker_open);
	world_report(&w, "n1", true);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n1"));
	CHECK_EQ(world_ask(&w, ACT_BREAKER_RESET,
			   &(struct actor_request){ .who = "operator eve", .reason = "mended" }),
		 200);
	CHECK(!w.wrong_file); /* what was measured before the reset is no longer held against it */
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK(!actor_counts(w.act).breaker_open);
	world_close(&w);
}

/* A rack was bad and its notice told; then nobody ran, and when one does the rack is well. */
static void what_hosts_shared_before_a_start_is_closed_once_it_was_not_found_again(void)
{
	static const char open[] = "SELECT count(*) FROM incidents WHERE closed_us IS NULL";
	const struct store_incident left = { .node = "domain:r1",
					     .check = "shared",
					     .subject = "r1",
					     .level = VERDICT_WARN,
					     .action = "alert",
					     .sentence = "rack r1: 8 of 8 hosts are slow" },
				    of_host = { .node = "n3",
						.check = "gemm.rate",
						.subject = "gpu:a",
						.level = VERDICT_WARN,
						.action = "alert",
						.sentence = "n3 is slow" };
	struct world w;
	unsigned minutes;

	world_open(&w, "left.db");
	CHECK_EQ(store_put_incident(w.store, &left, w.now_us, NULL), 0);
	CHECK_EQ(store_put_incident(w.store, &of_host, w.now_us, NULL), 0);
	CHECK_EQ(world_count(&w, open), 2);
	world_kill(&w);
	for (minutes = 0; minutes < 29; minutes++) {
		CHECK(world_run(&w, 0));
		world_wait(&w, USEC_PER_MIN);
	}
	CHECK_EQ(world_count(&w, open), 2); /* it may be found yet */
	world_wait(&w, 2 * USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK_EQ(world_count(&w, open), 1);
	world_close(&w);
}

/* As a watch of a cluster outside would tell it. */
static void nothing_is_decided_on_what_is_stale(void)
{
	static const char words[] = "the state of the cluster has been unknown since noon: refused";
	static const char refused[] = "SELECT count(*) FROM actions WHERE node = 'n1' AND "
				      "result LIKE 'stale: the state of the cluster%'";
	CLEANUP(json_freep) json_t *breaker = NULL;
	struct world w;

	world_open(&w, "stale.db");
	actor_watcher.stale(w.act, words);
	CHECK_STR(actor_stale(w.act), words);
	world_report(&w, "n1", true);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n1"));
	CHECK_EQ(actor_counts(w.act).cordons_refused, 0); /* it may be over in a moment */
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK(!is_out(&w, "n1"));
	CHECK_EQ(actor_counts(w.act).cordons_refused, 1);
	CHECK_EQ(world_count(&w, refused), 1);
	CHECK(actor_counts(w.act).stale);
	breaker = actor_breaker_json(w.act);
	CHECK_STR(json_string_value(json_object_get(breaker, "stale")), words);
	CHECK_EQ(world_ask(&w, ACT_CORDON,
			   &(struct actor_request){
				   .node = "n2", .who = "operator eve", .reason = "smoke" }),
		 409);
	CHECK(!is_out(&w, "n2"));
	actor_watcher.stale(w.act, NULL);
	CHECK(!actor_stale(w.act));
	world_wait(&w, USEC_PER_SEC);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n1"));
	world_close(&w);
}

static const struct cluster_node *shown(struct world *w, const char *name)
{
	world_look(w);
	return world_node(w, name);
}

/* A node as the cluster would show it while another owner works on it. */
static void a_node_in_anothers_hands_is_not_touched_and_counts_as_out(void)
{
	struct cluster_node node;
	struct world w;
	uint64_t used;

	world_open(&w, "hands.db");
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	used = actor_counts(w.act).budget_used;
	node = cluster_node_copy(shown(&w, "n1"));
	node.hands_off = xstrdup("Karpenter is removing it");
	node.leaving = true;
	actor_watcher.node(w.act, &node);
	world_report(&w, "n1", true);
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK(!shown(&w, "n1")->unschedulable);
	CHECK_EQ(actor_counts(w.act).budget_used, used + 1);
	CHECK_EQ(world_ask(&w, ACT_CORDON,
			   &(struct actor_request){
				   .node = "n1", .who = "operator eve", .reason = "smoke" }),
		 409);
	CHECK(!shown(&w, "n1")->unschedulable);
	free(TAKE(node.hands_off));
	node.leaving = false;
	actor_watcher.node(w.act, &node);
	world_wait(&w, USEC_PER_SEC);
	CHECK(world_run(&w, 0));
	CHECK(shown(&w, "n1")->unschedulable);
	cluster_node_release(&node);
	world_close(&w);
}

static void a_reloaded_policy_says_at_once_where_hosts_are(void)
{
	struct world w;
	const struct actor_request second = { .node = "n2", .who = "bob", .reason = "as it is" };

	world_open(&w, "label.db");
	world_report(&w, "n1", true);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n1"));
	free(w.policy.domain_label);
	w.policy.domain_label = xstrdup("rack"); /* as after a reload */
	w.policy.domain_max = 1;
	CHECK_EQ(world_ask(&w, ACT_CORDON, &second), 409);
	w.policy.domain_max = 2;
	CHECK_EQ(world_ask(&w, ACT_CORDON, &second), 200);
	world_close(&w);
}

static const struct test tests[] = {
	TEST(nothing_is_decided_on_what_is_stale),
	TEST(a_node_in_anothers_hands_is_not_touched_and_counts_as_out),
	TEST(a_reloaded_policy_says_at_once_where_hosts_are),
	TEST(what_too_many_hosts_refuse_jobs_for_is_let_in),
	TEST(what_a_test_finds_again_is_cordoned_and_what_it_does_not_is_not),
	TEST(what_hosts_shared_before_a_start_is_closed_once_it_was_not_found_again),
	TEST(a_file_that_half_of_the_hosts_contradict_opens_the_breaker),
};

TEST_SUITE(tests);
