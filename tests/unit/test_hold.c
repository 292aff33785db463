/* SPDX-License-Identifier: Apache-2.0 */
/* Measures short of a cordon: holds, coverage, denials; and the records of parts. */
#include "lib/policy/decide.h"

#include "lib/base/xalloc.h"
#include "lib/policy/deny.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

/* ---- parts --------------------------------------------------------------------- */

static void a_swapped_part_takes_its_record_along(void)
{
	static const char *const bad[] = { "GPU-bad", "GPU-b" }, *const good[] = { "GPU-c",
										   "GPU-b" };
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 20);
	fleet_set_parts(&w.fleet, world_node(&w, 3), bad, 2);
	fleet_set_parts(&w.fleet, world_node(&w, 4), good, 2);
	for (i = 0; i < 2; i++) {
		const struct finding_news news = { .check = "gpu.lost",
						   .subject = "gpu:0",
						   .serial = "GPU-bad",
						   .severity = SEVERITY_FATAL,
						   .seen_us = w.now_us };

		fleet_note(&w.fleet, world_node(&w, 3), &news);
		decide_and_do(&w);
		happens(&w, 3, EVENT_REPAIR_DONE);
		happens(&w, 3, EVENT_UNCORDONED);
		later(&w, 25 * USEC_PER_HOUR);
	}
	fleet_set_parts(&w.fleet, world_node(&w, 4), bad, 2);
	fleet_set_parts(&w.fleet, world_node(&w, 3), good, 2);
	CHECK_EQ(fleet_repeats(world_node(&w, 3), 0), 0);
	CHECK_EQ(fleet_repeats(world_node(&w, 4), 0), 2);
	note(&w, 3, "gpu.lost", SEVERITY_FATAL);
	note(&w, 4, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_CORDON)->sticky);
	CHECK(find(&w, 4, DECIDE_CORDON)->sticky);
}

/* ---- holds and coverage -------------------------------------------------------- */

static void a_test_on_a_busy_node_waits_under_a_hold(void)
{
	static const char *const job[] = { "llama" };
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	fleet_set_jobs(&w.fleet, world_node(&w, 3), job, 1);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	CHECK(!find(&w, 3, DECIDE_RETEST));
	CHECK(find(&w, 3, DECIDE_HOLD));
	CHECK_EQ(find(&w, 3, DECIDE_HOLD)->until_us, w.now_us + w.policy.hold_ttl_us);
	CHECK_EQ(world_node(&w, 3)->out, OUT_HOLD);
	later(&w, 10 * USEC_PER_MIN);
	fleet_set_jobs(&w.fleet, world_node(&w, 3), NULL, 0);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_RETEST));
	CHECK_EQ(w.out.out, 1);
	tested(&w, 3, world_node(&w, 3)->findings, TEST_PASSED);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_UNHOLD));
	CHECK_EQ(world_node(&w, 3)->out, 0);
}

static void a_hold_ends_with_its_time_and_takes_room(void)
{
	/* Four of one job would be that job's. */
	static const char *const jobs[][1] = { { "llama" }, { "opt" }, { "bloom" }, { "gpt" } };
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 20);
	w.policy.per_job = 5;
	w.policy.hold_at_once = 5;
	for (i = 0; i < 4; i++) {
		fleet_set_jobs(&w.fleet, world_node(&w, i), jobs[i], 1);
		note(&w, i, "gemm.rate", SEVERITY_FAIL);
		note(&w, i, "gemm.rate", SEVERITY_FAIL);
	}
	world_node(&w, 9)->out = OUT_OTHERS;
	decide_and_do(&w);
	CHECK(find(&w, 0, DECIDE_HOLD)->effect);
	CHECK_EQ(find(&w, 1, DECIDE_HOLD)->refused->by, REFUSED_BY_TOTAL);
	later(&w, w.policy.hold_ttl_us - 1);
	decide(&w);
	CHECK(!find(&w, 0, DECIDE_UNHOLD));
	later(&w, 1);
	decide_and_do(&w);
	CHECK(find(&w, 0, DECIDE_UNHOLD));
}

static void nothing_is_held_from_what_is_stale_or_under_anothers_hands(void)
{
	static const char *const job[] = { "llama" };
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 20);
	w.policy.hold_at_once = 5;
	for (i = 0; i < 2; i++) {
		fleet_set_jobs(&w.fleet, world_node(&w, i), job, 1);
		note(&w, i, "gemm.rate", SEVERITY_FAIL);
		note(&w, i, "gemm.rate", SEVERITY_FAIL);
	}
	fleet_set_hands_off(world_node(&w, 1), "it is being deleted");
	w.fleet.stale = xstrdup("the API is down");
	decide(&w);
	CHECK(find(&w, 0, DECIDE_HOLD) && find(&w, 0, DECIDE_HOLD)->refused);
	CHECK_EQ(find(&w, 0, DECIDE_HOLD)->refused->by, REFUSED_BY_STALE);
	CHECK(!find(&w, 1, DECIDE_HOLD));
	free(TAKE(w.fleet.stale));
	decide(&w);
	CHECK(find(&w, 0, DECIDE_HOLD)->effect);
}

static void a_cordon_ends_the_hold(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	happens(&w, 3, EVENT_HOLD);
	note(&w, 3, "gpu.lost", SEVERITY_FATAL);
	decide_and_do(&w);
	CHECK_EQ(world_node(&w, 3)->out, OUT_OURS | OUT_HOLD);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_UNHOLD));
	CHECK_EQ(world_node(&w, 3)->out, OUT_OURS);
}

/* The node in the cluster is the same: what keeps jobs off it is lifted before it takes no room. */
static void another_machine_ends_the_hold_and_takes_its_room_until_then(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	happens(&w, 3, EVENT_HOLD);
	happens(&w, 3, EVENT_REPLACED);
	CHECK_EQ(world_node(&w, 3)->out, OUT_HOLD);
	decide(&w);
	CHECK_EQ(w.out.out, 1);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_UNHOLD));
	CHECK_EQ(world_node(&w, 3)->out, 0);
}

static void the_oldest_deep_verdicts_are_renewed_a_few_at_once(void)
{
	CLEANUP(world_release) struct world w;
	CLEANUP(coverage_release) struct coverage due = { 0 };
	unsigned i;

	world_init(&w, RULES, 20);
	later(&w, 8 * USEC_PER_DAY);
	for (i = 4; i < 20; i++)
		world_node(&w, i)->deep_us = w.now_us;
	world_node(&w, 5)->deep_us = w.now_us - 7 * USEC_PER_DAY - 5;
	world_node(&w, 2)->managed = false;
	coverage_list(&w.policy, &w.fleet, w.now_us, &due);
	CHECK_EQ(due.n, 4);
	CHECK(due.n == 4 && due.due[0] == world_node(&w, 0) && due.due[3] == world_node(&w, 5));
	decide_and_do(&w);
	CHECK_EQ(w.out.n, 2);
	CHECK(find(&w, 0, DECIDE_DEEP) && find(&w, 1, DECIDE_DEEP));
	decide_and_do(&w);
	CHECK_EQ(w.out.n, 0); /* two are under way */
	fleet_tested(
		&w.fleet, world_node(&w, 0),
		&(struct fleet_test){ .outcome = TEST_PASSED, .deep = true, .at_us = w.now_us });
	decide_and_do(&w);
	CHECK_EQ(w.out.n, 1);
	CHECK(find(&w, 3, DECIDE_DEEP));
}

static void an_order_without_an_answer_is_given_again(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 20);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	for (i = 0; i < 3; i++) {
		decide_and_do(&w);
		CHECK(find(&w, 3, DECIDE_RETEST));
		CHECK_EQ(find(&w, 3, DECIDE_HOLD) != NULL, false);
		later(&w, w.policy.retest_timeout_us);
	}
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_HOLD)); /* something always comes between */
}

/* ---- the deny budget ----------------------------------------------------------- */

static struct deny_answer ask(struct denials *d, const struct world *w, unsigned i,
			      const char *signature)
{
	CLEANUP(freep) char *node = xasprintf("n%03u", i);
	const struct deny_question question = { node, signature };
	struct deny_answer answer;

	deny_ask(d, &w->policy, w->fleet.n, &question, w->now_us, &answer);
	return answer;
}

static void denials_of_one_signature_end_at_their_budget(void)
{
	static const struct {
		unsigned nodes, limit;
	} rows[] = { { 10, 3 }, { 150, 3 }, { 200, 4 }, { 1000, 20 } };
	size_t i;
	unsigned j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		CLEANUP(denials_release) struct denials d = { 0 };
		struct deny_answer answer;

		world_init(&w, RULES, rows[i].nodes);
		for (j = 0; j < rows[i].limit; j++)
			CHECK(ask(&d, &w, j, "inventory.gpus sku").denied);
		answer = ask(&d, &w, j, "inventory.gpus sku");
		CHECK(!answer.denied && answer.alarm);
		CHECK_HAS(answer.sentence, "inventory.gpus sku");
		CHECK_HAS(answer.sentence, "budget.deny");
		CHECK(ask(&d, &w, 0, "inventory.gpus sku").denied); /* it was already */
		CHECK(ask(&d, &w, j, "gpu.lost").denied);	    /* another story */
		later(&w, 10 * USEC_PER_MIN);
		CHECK(ask(&d, &w, j, "inventory.gpus sku").denied);
	}
}

static const struct test tests[] = {
	TEST(a_swapped_part_takes_its_record_along),
	TEST(a_test_on_a_busy_node_waits_under_a_hold),
	TEST(a_hold_ends_with_its_time_and_takes_room),
	TEST(nothing_is_held_from_what_is_stale_or_under_anothers_hands),
	TEST(a_cordon_ends_the_hold),
	TEST(another_machine_ends_the_hold_and_takes_its_room_until_then),
	TEST(the_oldest_deep_verdicts_are_renewed_a_few_at_once),
	TEST(an_order_without_an_answer_is_given_again),
	TEST(denials_of_one_signature_end_at_their_budget),
};

TEST_SUITE(tests);
