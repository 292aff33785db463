/* SPDX-License-Identifier: Apache-2.0 */
/* Testing a suspect rung by rung: lib/policy/decide.h, rungs.h. */
#include "lib/base/duration.h"
#include "lib/policy/decide.h"
#include "lib/policy/rungs.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST
#define MEMORY "{name: memory, match: {check: 'memory.*'}, windows: {k: 2, n: 3}, action: retest}"

/* A suspect: n003 is to be tested, and no more. */
static void suspect(struct world *w, int reach)
{
	const struct blame found = { .class = BLAME_COMPUTE,
				     .reach = reach,
				     .job = (char *)(uintptr_t) "research/llm-7",
				     .since_us = w->now_us,
				     .until_us = w->now_us + USEC_PER_DAY };

	fleet_set_blame(world_node(w, 3), &found);
}

static void a_test_of_one_finding_is_no_test_of_the_suspect(void)
{
	CLEANUP(world_release) struct world w;
	struct fleet_test test = { .outcome = TEST_PASSED };

	world_init(&w, RULES, 20);
	test.finding = note(&w, 3, "memory.h2d_bw", SEVERITY_WARN);
	suspect(&w, BLAME_TO_TEST);
	later(&w, USEC_PER_MIN);
	test.at_us = w.now_us;
	(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
	world_hold(&w, 3);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP));
	test.finding = NULL;
	(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
	world_hold(&w, 3);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP));
}

/* The test that is asked for now; "": none. */
static const char *rung_now(struct world *w)
{
	const struct decision *test;

	world_hold(w, 3);
	decide(w);
	test = find(w, 3, DECIDE_DEEP);
	return !test ? "" : test->profile ? test->profile : "full";
}

static void a_suspect_climbs_once_its_last_answer_is_known(void)
{
	struct fleet_test test = { .outcome = TEST_PASSED };
	CLEANUP(world_release) struct world w;
	struct blame *blame;

	world_init(&w, RULES, 20);
	suspect(&w, BLAME_TO_TEST);
	blame = &world_node(&w, 3)->blame;
	blame->rung = "rung-gemm";
	blame->climbs = true;
	CHECK_STR(rung_now(&w), "rung-gemm");
	later(&w, USEC_PER_MIN);
	test.at_us = w.now_us;
	(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
	CHECK(world_node(&w, 3)->record.hold_until_us > w.now_us); /* more is to come */
	CHECK_STR(rung_now(&w), ""); /* who blames it has not heard of that yet */
	blame->rung = "rung-load";
	blame->answered_us = w.now_us / USEC_PER_MSEC * USEC_PER_MSEC;
	CHECK_STR(rung_now(&w), "rung-load");
	/* Nothing came of it: again, later; and at last all is measured. */
	test.outcome = TEST_NOTHING;
	later(&w, USEC_PER_MIN);
	test.at_us = w.now_us;
	(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
	CHECK_STR(rung_now(&w), "");
	later(&w, RUNGS_LOST_AGAIN_US);
	CHECK_STR(rung_now(&w), "rung-load");
	test.at_us = w.now_us;
	(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
	later(&w, w.policy.jobs.retest_spacing_us * 2);
	CHECK_STR(rung_now(&w), "full");
}

static void a_rung_that_is_to_be_repeated_waits(void)
{
	CLEANUP(world_release) struct world w;
	struct blame *blame;

	world_init(&w, RULES, 20);
	suspect(&w, BLAME_TO_TEST);
	blame = &world_node(&w, 3)->blame;
	blame->rung = "rung-gemm";
	later(&w, USEC_PER_MIN);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	world_node(&w, 3)->record.tested_us = blame->answered_us = w.now_us;
	CHECK_STR(rung_now(&w), "");
	later(&w, w.policy.jobs.retest_spacing_us - 1);
	CHECK_STR(rung_now(&w), "");
	later(&w, 1);
	CHECK_STR(rung_now(&w), "rung-gemm");
}

/* Another rung was run meanwhile: it counts from the failure, not from the answer since. */
static void a_repetition_counts_from_what_it_repeats(void)
{
	struct fleet_test test = { .outcome = TEST_NOTHING };
	CLEANUP(world_release) struct world w;
	struct blame *blame;

	world_init(&w, RULES, 20);
	suspect(&w, BLAME_TO_TEST);
	blame = &world_node(&w, 3)->blame;
	blame->rung = "rung-gemm";
	blame->again_us = w.now_us + 5 * USEC_PER_MIN;
	later(&w, 3 * USEC_PER_MIN);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	world_node(&w, 3)->record.tested_us = blame->answered_us = w.now_us;
	CHECK_STR(rung_now(&w), "");
	later(&w, 2 * USEC_PER_MIN - 1);
	CHECK_STR(rung_now(&w), "");
	later(&w, 1);
	CHECK_STR(rung_now(&w), "rung-gemm");
	/* Nothing came of it: not at once again, though it is due. */
	later(&w, USEC_PER_SEC);
	test.at_us = w.now_us;
	(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
	CHECK_STR(rung_now(&w), "");
	later(&w, RUNGS_LOST_AGAIN_US);
	CHECK_STR(rung_now(&w), "rung-gemm");
	/* It was answered, and who blames the host has not heard of that. */
	test.outcome = TEST_FAILED;
	later(&w, USEC_PER_SEC);
	test.at_us = w.now_us;
	(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
	CHECK_STR(rung_now(&w), "");
}

/* The rule of the check would have it tested at once, by all there is, and spaces by its own time. */
static void what_fits_a_suspect_is_shown_again_by_its_rungs(void)
{
	static const struct {
		const char *check;
		int reach;
		bool left;
	} rows[] = {
		{ "gemm.rate", BLAME_TO_TEST, true },
		{ "gemm.correct", BLAME_TO_TEST, false }, /* it slows no job */
		{ "gemm.rate", BLAME_TO_TELL, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;

		world_init(&w, RULES, 20);
		suspect(&w, rows[i].reach);
		world_node(&w, 3)->blame.rung = "rung-gemm";
		world_node(&w, 3)->record.tested_us = world_node(&w, 3)->blame.answered_us =
			w.now_us;
		note(&w, 3, rows[i].check, SEVERITY_FAIL);
		note(&w, 3, rows[i].check, SEVERITY_FAIL);
		world_hold(&w, 3);
		decide(&w);
		CHECK_EQ(find(&w, 3, DECIDE_RETEST) == NULL, rows[i].left);
		CHECK(!find(&w, 3, DECIDE_UNHOLD));
		later(&w, w.policy.jobs.retest_spacing_us);
		decide(&w);
		CHECK_EQ(find(&w, 3, DECIDE_DEEP) != NULL, rows[i].left);
	}
}

/* One test measures much; what was low in it beside what failed twice has not failed twice. */
static void what_is_low_beside_the_proof_is_none(void)
{
	static const struct {
		const char *proof;
		bool out;
	} rows[] = {
		{ "gemm.rate", false },
		{ "memory.read_bw", true },
		{ NULL, true }, /* who says no check means all that fit */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		struct blame found;

		world_init(&w, FATAL ", " MEMORY ", " REST, 20);
		found = (struct blame){ .class = BLAME_COMPUTE,
					.reach = BLAME_TO_EVICT,
					.check = (char *)(uintptr_t)rows[i].proof,
					.since_us = w.now_us,
					.until_us = w.now_us + USEC_PER_DAY };
		fleet_set_blame(world_node(&w, 3), &found);
		note(&w, 3, "memory.read_bw", SEVERITY_FAIL);
		note(&w, 3, "memory.read_bw", SEVERITY_FAIL);
		decide(&w);
		CHECK_EQ(find(&w, 3, DECIDE_CORDON) != NULL, rows[i].out);
	}
}

/* Job and tests agree; a good run since then says that a part which was not born slow is well. */
static void a_good_run_since_the_proof_puts_the_cordon_off(void)
{
	static const struct {
		bool good, born, out;
	} rows[] = { { false, false, true }, { true, false, false }, { true, true, true } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		struct finding *finding;

		world_init(&w, RULES, 20);
		suspect(&w, BLAME_TO_EVICT);
		note(&w, 3, "gemm.rate", SEVERITY_FAIL);
		finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
		finding->born = rows[i].born;
		finding->parts = 8;
		finding->parts_bad = 1;
		windows_push(&finding->windows, !rows[i].good);
		decide(&w);
		CHECK_EQ(find(&w, 3, DECIDE_CORDON) != NULL, rows[i].out);
	}
}

static const struct test tests[] = {
	TEST(a_suspect_climbs_once_its_last_answer_is_known),
	TEST(a_rung_that_is_to_be_repeated_waits),
	TEST(a_repetition_counts_from_what_it_repeats),
	TEST(what_fits_a_suspect_is_shown_again_by_its_rungs),
	TEST(a_test_of_one_finding_is_no_test_of_the_suspect),
	TEST(what_is_low_beside_the_proof_is_none),
	TEST(a_good_run_since_the_proof_puts_the_cordon_off),
};

TEST_SUITE(tests);
