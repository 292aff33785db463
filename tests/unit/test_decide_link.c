/* SPDX-License-Identifier: Apache-2.0 */
/* An end of a link that a job blames: tested alone, and then in pairs. */
#include "lib/policy/decide.h"

#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

/* n003 is to be tested, as a job is slow because of it. */
static void blame(struct world *w, int class)
{
	const struct blame found = { .class = class,
				     .reach = BLAME_TO_TEST,
				     .job = (char *)(uintptr_t) "research/llm-7",
				     .since_us = w->now_us,
				     .until_us = w->now_us + USEC_PER_DAY };

	fleet_set_blame(world_node(w, 3), &found);
}

/* It is kept free for its test. */
static void hold(struct world *w)
{
	const struct fleet_cause cause = { .event = EVENT_HOLD,
					   .who = WHO_AUTOMATIC,
					   .why = "a test",
					   .until_us = w->now_us + w->policy.hold_ttl_us };

	CHECK_EQ(fleet_event(&w->fleet, world_node(w, 3), &cause, w->now_us, NULL, NULL), 0);
}

static void an_end_of_a_link_stays_held_when_it_passed_for_pairs_are_next(void)
{
	static const struct {
		int class, outcome;
		bool stays;
		const char *rung; /* that was ordered */
		bool deep;	  /* all was measured in its place */
	} rows[] = {
		{ BLAME_LINK, TEST_PASSED, true, "full", true },
		{ BLAME_LINK, TEST_NOTHING, false, "full", true },
		{ BLAME_LINK, TEST_FAILED, true, "full", true },
		{ BLAME_COMPUTE, TEST_PASSED, false, NULL, true },
		{ BLAME_COMPUTE, TEST_PASSED, true, "rung-gemm", false },
		{ BLAME_COMPUTE, TEST_PASSED, false, "rung-gemm", true },
		{ BLAME_COMPUTE, TEST_PASSED, false, "rung-load", false },
		{ BLAME_COMPUTE, TEST_NOTHING, false, "rung-gemm", false },
		{ BLAME_COMPUTE, TEST_FAILED, true, "rung-gemm", false },
		{ BLAME_NOTHING, TEST_PASSED, false, NULL, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		struct fleet_test test = { .outcome = rows[i].outcome, .deep = rows[i].deep };

		world_init(&w, RULES, 20);
		blame(&w, rows[i].class);
		world_node(&w, 3)->blame.rung = rows[i].rung;
		hold(&w);
		test.at_us = w.now_us;
		(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
		CHECK_EQ(world_node(&w, 3)->record.hold_until_us > w.now_us, rows[i].stays);
	}
}

static void what_pairs_found_asks_for_no_test_of_the_host_alone(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	blame(&w, BLAME_LINK);
	later(&w, USEC_PER_MIN);
	world_node(&w, 3)->record.tested_us = w.now_us;
	hold(&w);
	note(&w, 3, "rnic_pair.write_bw", SEVERITY_FAIL);
	later(&w, w.policy.jobs.retest_spacing_us);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP) && !find(&w, 3, DECIDE_UNHOLD));
	note(&w, 3, "loopback.write_bw", SEVERITY_FAIL);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP));
}

static const struct test tests[] = {
	TEST(an_end_of_a_link_stays_held_when_it_passed_for_pairs_are_next),
	TEST(what_pairs_found_asks_for_no_test_of_the_host_alone),
};

TEST_SUITE(tests);
