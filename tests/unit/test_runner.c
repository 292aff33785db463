/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduling: time, order, concurrency, the lock, giving way. */
#include "agents/run/runner.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/lock.h"
#include "tests/unit/runner_fixture.h"
#include "tests/unit/test.h"

static void run(const struct runner_probe *probes, size_t n, const struct runner_options *options,
		struct report *ret)
{
	struct err err = ERR_INIT;

	*ret = (struct report){ 0 };
	CHECK_EQ(runner_run(probes, n, options, ret, &err), 0);
	CHECK_EQ(fixture_alive(), 0);
}

static void no_probes_give_an_empty_report(void)
{
	struct runner_options options = fixture_options();
	struct report report;

	run(NULL, 0, &options, &report);
	CHECK_EQ(report.n_samples, 0);
	CHECK_EQ(report.n_problems, 0);
	report_release(&report);
}

static void more_probes_than_the_limit_are_refused(void)
{
	struct runner_probe probes[RUNNER_PROBES_MAX + 1] = { { 0 } };
	struct runner_options options = fixture_options();
	struct report report = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(runner_run(probes, ARRAY_SIZE(probes), &options, &report, &err), -E2BIG);
	CHECK_STR(err.msg, "65 probes, more than 64");
}

/* --- time --------------------------------------------------------------------------- */

static void the_budget_of_the_run_cuts_that_of_a_probe(void)
{
	CLEANUP(freep)
	char *path = fixture_script("probes/long", "echo \"$2\" >&2\nexec sleep 1000\n");
	struct runner_probe probe = { .name = "long", .path = path, .budget_us = USEC_PER_HOUR };
	struct runner_options options = fixture_options();
	uint64_t told_us = 0;
	struct report report;

	options.deadline_us = clock_mono_us() + 600 * USEC_PER_MSEC;
	run(&probe, 1, &options, &report);
	CHECK_EQ(report.n_problems, 1);
	CHECK_EQ(report.problems[0].code, PROBLEM_TIMEOUT);
	CHECK_EQ(duration_parse(report.problems[0].err_tail, &told_us, NULL), 0);
	CHECK(told_us > 0 && told_us < 600 * USEC_PER_MSEC);
	report_release(&report);
}

static void no_probe_starts_after_the_end_of_the_run(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/late", SAY);
	struct runner_probe probes[] = {
		{ .name = "late", .path = path, .budget_us = USEC_PER_SEC },
		{ .name = "later", .path = path, .budget_us = USEC_PER_SEC, .active = true },
	};
	struct runner_options options = fixture_options();
	struct report report;

	options.deadline_us = clock_mono_us();
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, 0);
	CHECK_EQ(report.n_problems, 2);
	CHECK_EQ(report.problems[0].code, PROBLEM_TIMEOUT);
	CHECK_STR(report.problems[1].detail, "not started: the run's time was up");
	report_release(&report);
}

/* --- order and concurrency ---------------------------------------------------------- */

static void passive_probes_run_together_and_report_in_their_order(void)
{
	/* each waits for the other: one after another they would never end */
	CLEANUP(freep)
	char *one = fixture_script("probes/one",
				   "echo x >\"$FIFO_A\"; read y <\"$FIFO_B\"\n" SAY "exit 3\n");
	CLEANUP(freep)
	char *two = fixture_script("probes/two",
				   "read y <\"$FIFO_A\"; echo x >\"$FIFO_B\"\n"
				   "printf '%s\\n' '{\"check\":\"y\",\"subject\":\"s\","
				   "\"state\":\"measured\"}'; exit 4\n");
	struct runner_probe probes[] = {
		{ .name = "one", .path = one, .budget_us = LONG_US },
		{ .name = "two", .path = two, .budget_us = LONG_US },
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int a = fixture_fifo("FIFO_A");
	CLEANUP(closep) int b = fixture_fifo("FIFO_B");
	struct report report;

	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, 2);
	CHECK_STR(report.samples[0].check, "x.rate");
	CHECK_STR(report.samples[1].check, "y");
	CHECK_EQ(report.n_problems, 2);
	CHECK_STR(report.problems[0].probe, "one");
	CHECK_STR(report.problems[0].detail, "exit status 3");
	CHECK_STR(report.problems[1].probe, "two");
	CHECK_STR(report.problems[1].detail, "exit status 4");
	report_release(&report);
}

static void a_probe_that_fills_the_report_takes_nothing_from_the_others(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY SAY);
	CLEANUP(freep)
	char *many = fixture_script("probes/many", "yes '" SAMPLE_LINE "' | head -n 4000\n");
	struct runner_probe probes[] = {
		{ .name = "many", .path = many, .budget_us = LONG_US },
		{ .name = "many too", .path = many, .budget_us = LONG_US },
		{ .name = "few", .path = path, .budget_us = LONG_US },
	};
	struct runner_options options = fixture_options();
	struct report report;

	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, 2047 + 2047 + 2);
	CHECK_EQ(report.n_problems, 2);
	CHECK_EQ(report.problems[0].code, PROBLEM_TOO_MUCH);
	CHECK_STR(report.problems[1].detail,
		  "the report is full: 1953 of its 4000 samples are left out");
	report_release(&report);
}

static void active_probes_run_one_at_a_time_under_the_lock(void)
{
	CLEANUP(freep)
	char *path = fixture_script("probes/alone",
				    "mkdir \"$ALONE\" || exit 3\n"
				    "flock --nonblock \"$LOCK\" true && exit 4\n" SAY
				    "rmdir \"$ALONE\"\n");
	CLEANUP(freep) char *alone = xasprintf("%s/alone", test_dir());
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	struct runner_probe probes[4];
	struct runner_options options = fixture_options();
	CLEANUP(closep) int after = -1;
	struct report report;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		probes[i] = (struct runner_probe){
			.name = "alone", .path = path, .budget_us = LONG_US, .active = true
		};
	(void)setenv("ALONE", alone, 1);
	(void)setenv("LOCK", lock, 1);
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, ARRAY_SIZE(probes));
	CHECK_EQ(report.n_problems, 0);
	CHECK_EQ(lock_take(lock, 0, &after, NULL), 0); /* free again */
	report_release(&report);
}

/* --- the lock of another -------------------------------------------------------------- */

static void while_another_holds_the_lock_active_probes_are_busy_and_passive_ones_run(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	struct runner_probe probes[] = {
		{ .name = "a", .path = path, .budget_us = LONG_US, .active = true },
		{ .name = "p", .path = path, .budget_us = LONG_US },
		{ .name = "b", .path = path, .budget_us = LONG_US, .active = true },
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int held = -1;
	struct report report;

	CHECK_EQ(lock_take(lock, 0, &held, NULL), 0);
	options.lock_wait_us = 100 * USEC_PER_MSEC;
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK_EQ(report.n_samples, 1);
	CHECK_EQ(report.n_problems, 2);
	CHECK_EQ(report.problems[0].code, PROBLEM_BUSY);
	CHECK_STR(report.problems[0].probe, "a");
	CHECK_STR(report.problems[1].probe, "b");
	CHECK_HAS(report.problems[1].detail, "active.lock is held by pid ");
	report_release(&report);
}

static void let_go(void *context, const struct runner_progress *p UNUSED)
{
	int *held = context;

	closep(held);
	*held = -1;
}

static void a_lock_that_comes_free_in_time_is_taken(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	struct report report;
	int held = -1;

	CHECK_EQ(lock_take(lock, 0, &held, NULL), 0);
	options.lock_wait_us = LONG_US;
	options.progress = let_go;
	options.progress_context = &held;
	run(&probe, 1, &options, &report);
	CHECK_EQ(held, -1);
	CHECK_EQ(report.n_samples, 1);
	CHECK_EQ(report.n_problems, 0);
	report_release(&report);
}

static void a_lock_held_for_us_is_not_taken_again(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	CLEANUP(freep) char *lock = xasprintf("%s/active.lock", test_dir());
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int held = -1;
	struct report report;

	CHECK_EQ(lock_take(lock, 0, &held, NULL), 0);
	(void)setenv("ASSAY_LOCK_HELD", "1", 1);
	run(&probe, 1, &options, &report);
	(void)unsetenv("ASSAY_LOCK_HELD");
	CHECK_EQ(report.n_samples, 1);
	CHECK_EQ(report.n_problems, 0);
	report_release(&report);
}

static void a_run_directory_that_cannot_be_is_a_set_up_problem(void)
{
	CLEANUP(freep) char *file = test_file("plain", "");
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	struct report report;

	options.run_dir = file;
	run(&probe, 1, &options, &report);
	CHECK_EQ(report.n_problems, 1);
	CHECK_EQ(report.problems[0].code, PROBLEM_SET_UP);
	CHECK_HAS(report.problems[0].detail, file);
	report_release(&report);
}

/* --- giving way ------------------------------------------------------------------------- */

/* Once all active probes are done, let the passive one go. */
static void release_passive(void *context, const struct runner_progress *p)
{
	const int *late = context;

	if (p->done == p->total - 1)
		(void)!write(*late, "x\n", 2);
}

static void when_a_job_arrives_active_probes_are_gone_and_passive_ones_go_on(void)
{
	CLEANUP(freep) char *done = fixture_script("probes/done", SAY);
	CLEANUP(freep)
	char *victim = fixture_script("probes/victim", SAY "setsid sleep 1000 &\n"
							   "echo x >\"$JOB\"\nexec sleep 1000\n");
	CLEANUP(freep) char *passive = fixture_script("probes/passive", "read x <\"$LATE\"\n" SAY);
	struct runner_probe probes[] = {
		{ .name = "done", .path = done, .budget_us = LONG_US, .active = true },
		{ .name = "victim", .path = victim, .budget_us = LONG_US, .active = true },
		{ .name = "passive", .path = passive, .budget_us = LONG_US },
		{ .name = "next", .path = done, .budget_us = LONG_US, .active = true },
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int job = fixture_fifo("JOB");
	CLEANUP(closep) int late = fixture_fifo("LATE");
	uint64_t start_us = clock_mono_us();
	struct report report;

	options.stop_fd = job;
	options.progress = release_passive;
	options.progress_context = &late;
	run(probes, ARRAY_SIZE(probes), &options, &report);
	CHECK(clock_mono_us() - start_us < LONG_US);
	CHECK_EQ(report.n_samples, 3);
	CHECK_EQ(report.samples[0].state, SAMPLE_MEASURED); /* of a probe that was done */
	CHECK_EQ(report.samples[1].state, SAMPLE_ABORTED);
	CHECK_EQ(report.samples[1].ok, TRI_UNKNOWN);
	CHECK_EQ(report.samples[2].state, SAMPLE_MEASURED); /* of the passive one */
	CHECK_EQ(report.n_problems, 2);
	CHECK_STR(report.problems[0].probe, "victim");
	CHECK_EQ(report.problems[0].code, PROBLEM_BUSY);
	CHECK_STR(report.problems[0].detail, "aborted: a job arrived");
	CHECK_STR(report.problems[1].probe, "next");
	CHECK_STR(report.problems[1].detail, "not started: a job arrived");
	report_release(&report);
}

static void a_job_that_is_there_already_starts_no_active_probe(void)
{
	CLEANUP(freep) char *path = fixture_script("probes/ok", SAY);
	struct runner_probe probe = {
		.name = "a", .path = path, .budget_us = LONG_US, .active = true
	};
	struct runner_options options = fixture_options();
	CLEANUP(closep) int job = fixture_fifo("JOB");
	struct report report;

	CHECK_EQ(write(job, "x", 1), 1);
	options.stop_fd = job;
	run(&probe, 1, &options, &report);
	CHECK_EQ(report.n_samples, 0);
	CHECK_EQ(report.n_problems, 1);
	CHECK_EQ(report.problems[0].code, PROBLEM_BUSY);
	report_release(&report);
}

static const struct test tests[] = {
	TEST(no_probes_give_an_empty_report),
	TEST(more_probes_than_the_limit_are_refused),
	TEST(the_budget_of_the_run_cuts_that_of_a_probe),
	TEST(no_probe_starts_after_the_end_of_the_run),
	TEST(passive_probes_run_together_and_report_in_their_order),
	TEST(a_probe_that_fills_the_report_takes_nothing_from_the_others),
	TEST(active_probes_run_one_at_a_time_under_the_lock),
	TEST(while_another_holds_the_lock_active_probes_are_busy_and_passive_ones_run),
	TEST(a_lock_that_comes_free_in_time_is_taken),
	TEST(a_lock_held_for_us_is_not_taken_again),
	TEST(a_run_directory_that_cannot_be_is_a_set_up_problem),
	TEST(when_a_job_arrives_active_probes_are_gone_and_passive_ones_go_on),
	TEST(a_job_that_is_there_already_starts_no_active_probe),
};

TEST_SUITE(tests);
