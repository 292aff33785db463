/* SPDX-License-Identifier: Apache-2.0 */
/* Misbehaving probes: the right problem, in time, no leftovers, bounded memory. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/runner_fixture.h"
#include "tests/unit/test.h"

#define SHORT_US (400 * USEC_PER_MSEC)
#define SAID_US (4 * USEC_PER_SEC) /* to have said something by then, on a busy machine */

struct row {
	const char *body;
	uint64_t budget_us;
	size_t samples;
	const char *want; /* "code: detail" begins so; "" for no problem */
};

/*
 * Soon after its budget a probe is gone: LONG_US is far below a hang. That it was killed before
 * says what is told of it, which is not of a timeout.
 */
static void check_row(const struct row *row)
{
	CLEANUP(freep) char *said = NULL;
	uint64_t start_us = clock_mono_us();
	struct report report;

	fixture_run(row->body, row->budget_us, &report);
	CHECK(clock_mono_us() - start_us < row->budget_us + LONG_US);
	CHECK_EQ(report.n_samples, row->samples);
	CHECK_EQ(report.n_problems, row->want[0] != '\0');
	said = report.n_problems ? xasprintf("%s: %s", problem_code_names[report.problems[0].code],
					     report.problems[0].detail)
				 : xstrdup("");
	CHECK_HAS(said, row->want);
	report_release(&report);
}

static void check_rows(const struct row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		check_row(&rows[i]);
}

static void a_probe_that_does_not_end_is_killed_at_the_end_of_its_budget(void)
{
	static const struct row rows[] = {
		{ "exec sleep 1000\n", SHORT_US, 0,
		  "timeout: killed at the end of its budget of 400ms" },
		{ SAY "sleep 1000\n", SAID_US, 1, "timeout: " },
		{ SAY "exec 1>&- 2>&-\nexec sleep 1000\n", SAID_US, 1, "timeout: " },
		{ "trap '' TERM INT HUP QUIT\nwhile :; do sleep 1000; done\n", SHORT_US, 0,
		  "timeout: " },
		{ "kill -STOP $$\n", SHORT_US, 0, "timeout: " },
		{ "while :; do :; done\n", SHORT_US, 0, "timeout: " },
		{ "printf '{\"v\":1,\"check'; sleep 1000\n", SHORT_US, 0,
		  "timeout: killed at the end of its budget of 400ms, 0.0" },
		{ "cat /dev/zero >&2\n", SHORT_US, 0, "timeout: " },
		{ "kill -STOP $$ & sleep 1000\n", SHORT_US, 0, "timeout: " },
	};

	check_rows(rows, ARRAY_SIZE(rows));
}

static void descendants_that_flee_are_killed_with_their_probe(void)
{
	static const struct row rows[] = {
		/* ends by itself and leaves others, which hold its pipes open */
		{ SAY "setsid sleep 1000 &\n", 2 * LONG_US, 1, "" },
		{ SAY "(setsid sh -c 'setsid sleep 1000 & sleep 1000' &)\nexit 0\n", 2 * LONG_US, 1,
		  "" },
		{ SAY "setsid sh -c 'trap \"\" TERM; kill -STOP $$' &\nexit 3\n", 2 * LONG_US, 1,
		  "exit: exit status 3" },
		/* is killed itself */
		{ "setsid sh -c 'setsid sleep 1000 & sleep 1000' &\nsetsid sleep 1000\n", SHORT_US,
		  0, "timeout: " },
		/* many */
		{ "i=0; while [ $i -lt 200 ]; do setsid sleep 1000 & i=$((i+1)); done\n" SAY,
		  2 * LONG_US, 1, "" },
		{ "i=0; while [ $i -lt 200 ]; do sleep 1000 & i=$((i+1)); done; wait\n", SHORT_US,
		  0, "timeout: " },
		/* one that is always another process already */
		{ "COMET=1 setsid \"$0\" \"$@\" &\n[ \"$COMET\" ] || " SAY, 2 * LONG_US, 1, "" },
		/* is another program than it was */
		{ "exec sh -c 'echo words; exec sleep 1000'\n", SHORT_US, 0, "timeout: " },
	};

	check_rows(rows, ARRAY_SIZE(rows));
}

static void the_way_a_probe_ends_is_told(void)
{
	static const struct row rows[] = {
		{ SAY, LONG_US, 1, "" },
		{ SAY "exec true\n", LONG_US, 1, "" },
		{ "", LONG_US, 0, "empty: printed no sample" },
		{ "echo no GPU here >&2\nexit 77\n", LONG_US, 0, "not-applicable: no GPU here" },
		{ "echo what is --x >&2\nexit 2\n", LONG_US, 0,
		  "set-up: exit status 2 (usage): what is --x" },
		{ SAY "echo sorry >&2\nexit 3\n", LONG_US, 1, "exit: exit status 3: sorry" },
		{ SAY "kill -SEGV $$\n", LONG_US, 1, "crashed: died by SIGSEGV" },
		{ "kill -KILL $$\n", LONG_US, 0, "crashed: killed by SIGKILL from outside" },
		{ SAY "printf '{\"v\":1,'\nkill -ABRT $$\n", LONG_US, 1,
		  "crashed: died by SIGABRT; also line 2: " },
	};

	check_rows(rows, ARRAY_SIZE(rows));
}

static void what_is_no_sample_is_garbage_and_good_lines_are_kept(void)
{
	static const struct row rows[] = {
		{ SAY "printf '{\"v\":1,\"check\":'\n", LONG_US, 1, "garbage: line 2: " },
		{ "printf '\\377\\376\\n'\n" SAY, LONG_US, 1,
		  "garbage: line 1: unable to decode byte" },
		{ SAY "echo '{\"check\":\"x\",\"subject\":\"s\",\"unit\":\"1\",\"value\":NaN}'\n",
		  LONG_US, 1, "garbage: line 2: invalid token" },
		{ SAY "echo '{\"check\":\"x\",\"subject\":\"s\",\"unit\":\"1\",\"value\":1e999}'\n",
		  LONG_US, 1, "garbage: line 2: real number overflow" },
		{ "echo Traceback >&2; echo Usage: something\n", LONG_US, 0, "garbage: line 1: " },
	};

	check_rows(rows, ARRAY_SIZE(rows));
}

static void whoever_prints_past_a_limit_is_killed_at_once(void)
{
	static const struct row rows[] = {
		{ "yes | head -c 1000000000\n", 2 * LONG_US, 0,
		  "too-much: printed more than 4 MiB" },
		{ "yes >/dev/stdout & exec sleep 1000\n", 2 * LONG_US, 0, "too-much: " },
		{ "cat /dev/zero\n", 2 * LONG_US, 0,
		  "too-much: printed a line of more than 64 KiB" },
		{ SAY "head -c 71680 /dev/zero | tr '\\0' x\necho\nsleep 1000\n", 2 * LONG_US, 1,
		  "too-much: printed a line of more than 64 KiB" },
		{ "yes '" SAMPLE_LINE "' | head -n 5000\nsleep 1000\n", 2 * LONG_US, 4096,
		  "too-much: printed more than 4096 samples" },
	};

	check_rows(rows, ARRAY_SIZE(rows));
}

static void memory_stays_flat_whatever_is_printed(void)
{
	static const struct row rows[] = {
		{ "yes | head -c 1000000000\n", 2 * LONG_US, 0, "too-much: " },
		{ "yes x | head -c 200000000 >&2\n" SAY, 2 * LONG_US, 1, "" },
	};
	struct rusage before, after;

	(void)getrusage(RUSAGE_SELF, &before);
	check_rows(rows, ARRAY_SIZE(rows));
	(void)getrusage(RUSAGE_SELF, &after);
	CHECK(after.ru_maxrss - before.ru_maxrss < 64 * 1024); /* KiB; of 200,000,000 bytes */
}

static void what_cannot_be_started_is_not_executable(void)
{
	CLEANUP(freep) char *plain = test_file("probes/plain", "#!/bin/sh\n" SAY);
	CLEANUP(freep) char *no_interpreter = test_file("probes/dangling", "#!/no/such/shell\n");
	CLEANUP(freep) char *text = test_file("probes/text", "words\n");
	const struct {
		const char *path;
		const char *want;
	} rows[] = {
		{ plain, "Permission denied" },
		{ "/no/such/probe", "No such file or directory" },
		{ test_dir(), "Permission denied" },
		{ no_interpreter, "No such file or directory" },
		{ text, "Exec format error" },
	};
	size_t i;

	CHECK_EQ(chmod(no_interpreter, 0755), 0);
	CHECK_EQ(chmod(text, 0755), 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct runner_probe probe = { .name = "x",
					      .path = rows[i].path,
					      .budget_us = LONG_US };
		struct runner_options options = fixture_options();
		struct report report = { 0 };

		CHECK_EQ(runner_run(&probe, 1, &options, &report, NULL), 0);
		CHECK_EQ(report.n_problems, 1);
		CHECK_EQ(report.problems[0].code, PROBLEM_NOT_EXECUTABLE);
		CHECK_HAS(report.problems[0].detail, rows[i].path);
		CHECK_HAS(report.problems[0].detail, rows[i].want);
		report_release(&report);
	}
}

static void a_probe_that_kills_its_supervisor_dies_with_it(void)
{
	CLEANUP(freep)
	char *path = fixture_script("probe", SAY "kill -KILL $PPID\nexec sleep 1000\n");
	struct runner_probe probe = { .name = "x", .path = path, .budget_us = 2 * LONG_US };
	struct runner_options options = fixture_options();
	struct report report = { 0 };

	CHECK_EQ(runner_run(&probe, 1, &options, &report, NULL), 0);
	CHECK_EQ(fixture_wait_gone(), 0);
	CHECK_EQ(report.n_samples, 1);
	CHECK_EQ(report.n_problems, 1);
	CHECK_EQ(report.problems[0].code, PROBLEM_CRASHED);
	CHECK_HAS(report.problems[0].detail, "the process that watched it was killed");
	report_release(&report);
}

static void a_probe_that_stops_its_supervisor_is_still_ended(void)
{
	CLEANUP(freep) char *path = fixture_script("probe", "kill -STOP $PPID\nexec sleep 1000\n");
	struct runner_probe probe = { .name = "x", .path = path, .budget_us = SHORT_US };
	struct runner_options options = fixture_options();
	struct report report = { 0 };

	if (!test_full()) {
		test_skip("takes 6 s: only with --full");
		return;
	}
	CHECK_EQ(runner_run(&probe, 1, &options, &report, NULL), 0);
	CHECK_EQ(fixture_wait_gone(), 0);
	CHECK_EQ(report.n_problems, 1);
	CHECK_EQ(report.problems[0].code, PROBLEM_CRASHED);
	report_release(&report);
}

static const struct test tests[] = {
	TEST(a_probe_that_does_not_end_is_killed_at_the_end_of_its_budget),
	TEST(descendants_that_flee_are_killed_with_their_probe),
	TEST(the_way_a_probe_ends_is_told),
	TEST(what_is_no_sample_is_garbage_and_good_lines_are_kept),
	TEST(whoever_prints_past_a_limit_is_killed_at_once),
	TEST(memory_stays_flat_whatever_is_printed),
	TEST(what_cannot_be_started_is_not_executable),
	TEST(a_probe_that_kills_its_supervisor_dies_with_it),
	TEST(a_probe_that_stops_its_supervisor_is_still_ended),
};

TEST_SUITE(tests);
