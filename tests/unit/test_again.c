/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/again.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static struct sample *put_busy(struct report *r, const char *subject)
{
	struct sample *s = report_put(r, "gemm.rate", subject, NAN);

	s->state = SAMPLE_BUSY;
	return s;
}

static void what_was_busy_is_worth_a_repeat_and_what_a_job_ended_is_not(void)
{
	CLEANUP(report_release) struct report r = report_make();

	(void)report_put(&r, "gemm.rate", "cpu:0", 40e9);
	CHECK_EQ(again_busy(&r, "gemm"), 0);
	(void)put_busy(&r, "cpu:1");
	(void)put_busy(&r, "cpu:2");
	CHECK_EQ(again_busy(&r, "gemm"), 2);
	CHECK_EQ(again_busy(&r, "memory"), 0);
	put_busy(&r, "cpu:3")->state = SAMPLE_ABORTED;
	CHECK_EQ(again_busy(&r, "gemm"), 0);
}

static void a_repeat_fills_in_what_was_busy_and_leaves_what_was_measured(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(report_release) struct report more = report_make();

	(void)report_put(&r, "gemm.rate", "cpu:0", 30e9);
	(void)put_busy(&r, "cpu:1");
	(void)put_busy(&r, "cpu:2");
	(void)report_put(&more, "gemm.rate", "cpu:0", 40e9);
	report_put(&more, "gemm.rate", "cpu:1", 41e9)->params = json_pack("{s:i}", "size", 512);
	(void)put_busy(&more, "cpu:2");
	(void)report_put(&more, "gemm.host_rate", "host1", 30e9);
	CHECK_EQ(again_merge(&r, &more), 1);
	CHECK_EQ(r.n_samples, 4);
	CHECK_NEAR(r.samples[0].value, 30e9, 0);
	CHECK_NEAR(r.samples[1].value, 41e9, 0);
	CHECK_EQ(r.samples[1].state, SAMPLE_MEASURED);
	CHECK_EQ(r.samples[2].state, SAMPLE_BUSY);
	CHECK_STR(r.samples[3].check, "gemm.host_rate");
}

static void what_a_probe_finds_bad_in_a_repeat_counts_and_what_it_found_before_stays(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(report_release) struct report more = report_make();

	report_put(&r, "gemm.correct", "cpu:0", 0)->ok = TRI_YES;
	report_put(&r, "gemm.correct", "cpu:1", 7)->ok = TRI_NO;
	report_put(&more, "gemm.correct", "cpu:0", 3)->ok = TRI_NO;
	report_put(&more, "gemm.correct", "cpu:1", 0)->ok = TRI_YES;
	CHECK_EQ(again_merge(&r, &more), 0);
	CHECK_EQ(r.n_samples, 2);
	CHECK_EQ(r.samples[0].ok, TRI_NO);
	CHECK_EQ(r.samples[1].ok, TRI_NO);
}

static void samples_of_other_sizes_are_others(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(report_release) struct report more = report_make();

	put_busy(&r, "cpu:0")->params = json_pack("{s:i}", "size", 512);
	put_busy(&r, "cpu:0")->params = json_pack("{s:i}", "size", 1024);
	report_put(&more, "gemm.rate", "cpu:0", 41e9)->params = json_pack("{s:i}", "size", 1024);
	CHECK_EQ(again_merge(&r, &more), 1);
	CHECK_EQ(r.samples[0].state, SAMPLE_BUSY);
	CHECK_NEAR(r.samples[1].value, 41e9, 0);
}

static void a_repeat_that_crashes_is_told_and_one_that_did_not_run_is_not(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(report_release) struct report more = report_make();

	report_put_problem(&more, "gemm", PROBLEM_BUSY, "another run");
	report_put_problem(&more, "gemm", PROBLEM_CRASHED, "died by SIGSEGV");
	CHECK_EQ(again_merge(&r, &more), 0);
	CHECK_EQ(r.n_problems, 1);
	CHECK_EQ(r.problems[0].code, PROBLEM_CRASHED);
}

static const struct test tests[] = {
	TEST(what_was_busy_is_worth_a_repeat_and_what_a_job_ended_is_not),
	TEST(a_repeat_fills_in_what_was_busy_and_leaves_what_was_measured),
	TEST(what_a_probe_finds_bad_in_a_repeat_counts_and_what_it_found_before_stays),
	TEST(samples_of_other_sizes_are_others),
	TEST(a_repeat_that_crashes_is_told_and_one_that_did_not_run_is_not),
};

TEST_SUITE(tests, .end = judged_done);
