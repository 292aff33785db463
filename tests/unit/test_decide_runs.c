/* SPDX-License-Identifier: Apache-2.0 */
/* Which scheduled runs count as retests of a finding. */
#include "lib/policy/decide.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

static void a_run_while_a_test_is_under_way_is_no_test_of_its_own(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;

	world_init(&w, RULES, 20);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	later(&w, USEC_PER_HOUR);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	CHECK_EQ(finding->reproduced, 0);
}

/* Jobs keep it busy, and no host is held. */
static struct finding *busy_and_bad(struct world *w, const char *check)
{
	static const char *const jobs[] = { "training/llm" };

	world_init(w, RULES, 20);
	w->policy.hold_at_once = 0;
	fleet_set_jobs(&w->fleet, world_node(w, 3), jobs, 1);
	note(w, 3, check, SEVERITY_FAIL);
	return note(w, 3, check, SEVERITY_FAIL);
}

static void runs_of_the_hosts_own_plan_count_while_no_test_can_be_ordered(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding = busy_and_bad(&w, "gemm.rate");

	decide_and_do(&w);
	CHECK(!find(&w, 3, DECIDE_RETEST));
	CHECK_EQ(finding->reproduced, 0); /* what was found is no proof of itself */
	later(&w, w.policy.retest_spacing_us / 2);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	CHECK_EQ(finding->reproduced, 0); /* too soon */
	later(&w, w.policy.retest_spacing_us);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	decide_and_do(&w);
	CHECK_EQ(finding->reproduced, 1);
	CHECK(!find(&w, 3, DECIDE_CORDON));
	later(&w, w.policy.retest_spacing_us);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK_EQ(finding->reproduced, 2);
	CHECK(find(&w, 3, DECIDE_CORDON));
}

/*
 * One that always was slow asks for no test. In the run in which it is lower than that it asks for
 * one, and that run is no proof of itself; nor does a week in which it asked long ago count.
 */
static void the_run_that_asks_for_a_test_is_none(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding = busy_and_bad(&w, "gemm.rate");

	finding->born = true;
	finding->parts = 8;
	finding->parts_bad = 1;
	decide_and_do(&w);
	later(&w, USEC_PER_DAY);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	finding->born = false;
	finding->parts = 8;
	decide_and_do(&w);
	CHECK_EQ(finding->reproduced, 0);
	finding->windows = (struct windows){ 0, 3 };
	decide_and_do(&w);
	later(&w, USEC_PER_DAY);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	CHECK_EQ(finding->reproduced, 0);
}

/* A good one, a pair whose partner nobody chose, an event: none of them counts. */
static void a_run_of_the_hosts_own_plan_proves_no_more_than_a_test(void)
{
	static const char *const checks[] = { "gemm.rate", "rnic_pair.write_bw", "gpu.xid" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		CLEANUP(world_release) struct world w;
		struct finding *finding = busy_and_bad(&w, checks[i]);

		decide_and_do(&w);
		later(&w, USEC_PER_HOUR);
		if (i == 0) {
			windows_push(&finding->windows, false);
			finding->seen_us = w.now_us;
		} else {
			note(&w, 3, checks[i], SEVERITY_FAIL);
		}
		decide_and_do(&w);
		CHECK_EQ(finding->reproduced, 0);
	}
}

static const struct test tests[] = {
	TEST(a_run_while_a_test_is_under_way_is_no_test_of_its_own),
	TEST(runs_of_the_hosts_own_plan_count_while_no_test_can_be_ordered),
	TEST(the_run_that_asks_for_a_test_is_none),
	TEST(a_run_of_the_hosts_own_plan_proves_no_more_than_a_test),
};

TEST_SUITE(tests);
