/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "agents/run/probe_problem.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define GOOD "{\"check\":\"x\",\"subject\":\"s\",\"state\":\"measured\"}\n"

/* Wait statuses as of Linux: wait(2). */
#define EXITED(status) ((status) << 8)
#define DIED(number) (number)

static const struct row {
	struct supervisor_report supervisor;
	bool aborted;
	const char *out, *errors;
	const char *want;      /* "code: detail", or "" for no problem */
	const char *also_want; /* in the detail as well */
} rows[] = {
	{ { .status = EXITED(0) }, false, GOOD, "", "" },
	{ { .status = EXITED(0) }, false, GOOD, "just words\n", "" },
	{ { .status = EXITED(0) }, false, "", "", "empty: printed no sample" },
	{ { .status = EXITED(0) }, false, GOOD "x\n", "", "garbage: line 2: " },
	{ { .status = EXITED(0) }, false, "x\n", "", "garbage: line 1: " },
	{ { .status = EXITED(77) }, false, "", "a\nno GPU here\n\n", "not-applicable: no GPU here" },
	{ { .status = EXITED(77) }, false, "", "", "not-applicable: nothing to measure here" },
	{ { .status = EXITED(77) }, false, "x\n", "no GPU", "garbage: line 1: ", "; also no GPU" },
	{ { .status = EXITED(2) },
	  false,
	  "",
	  "bad option",
	  "set-up: exit status 2 (usage): bad option" },
	{ { .status = EXITED(3) }, false, "", "", "exit: exit status 3" },
	{ { .status = EXITED(1) }, false, GOOD, "no driver\n", "exit: exit status 1: no driver" },
	{ { .status = EXITED(1) }, false, "{\"v\":1", "", "exit: exit status 1", "; also line 1: " },
	{ { .status = DIED(SIGSEGV) }, false, GOOD, "", "crashed: died by SIGSEGV" },
	{ { .status = DIED(SIGABRT) | 0x80 },
	  false,
	  "{",
	  "",
	  "crashed: died by SIGABRT",
	  "; also line 1: " },
	{ { .status = DIED(SIGKILL), .peak_kib = 3072 },
	  false,
	  "",
	  "",
	  "crashed: killed by SIGKILL from outside (out of memory? it used 3 MiB)" },
	{ { .status = DIED(40) }, false, "", "", "crashed: died by signal 40" },
	{ { .status = DIED(SIGKILL), .timed_out = true, .cpu_us = 1230000 },
	  false,
	  GOOD,
	  "",
	  "timeout: killed at the end of its budget of 5s, 1.23 s of CPU used" },
	{ { .status = DIED(SIGKILL),
	    .timed_out = true,
	    .left = 12,
	    .left_state = 'D',
	    .left_name = "nccl" },
	  false,
	  "",
	  "",
	  "timeout: killed at the end of its budget of 5s",
	  "; also process 12 (nccl) was killed but does not die (state D): reboot needed" },
	{ { .status = DIED(SIGKILL),
	    .timed_out = true,
	    .left = 12,
	    .left_state = 'R',
	    .left_name = "nccl" },
	  false,
	  "",
	  "",
	  "timeout: killed at the end of its budget of 5s",
	  "; also process 12 (nccl) was killed but has not ended yet (state R): the CPUs are "
	  "overloaded, or it loops in the kernel" },
	{ { .status = EXITED(0), .left = 12, .left_state = 'D', .left_name = "x" },
	  false,
	  GOOD,
	  "",
	  "timeout: process 12 (x) was killed but does not die" },
	{ { .status = DIED(SIGKILL), .stopped = true },
	  true,
	  GOOD,
	  "",
	  "busy: aborted: a job arrived" },
	{ { .lost = true }, false, GOOD, "", "crashed: the process that watched it was killed" },
	{ { .start_errno = EACCES },
	  false,
	  "",
	  "",
	  "not-executable: cannot start /p: Permission denied" },
	{ { .start_errno = ENOENT },
	  false,
	  "",
	  "",
	  "not-executable: cannot start /p: No such file or directory" },
	{ { .start_errno = EMFILE }, false, "", "", "set-up: cannot start /p: Too many open files" },
	{ { .start_errno = EAGAIN }, false, "", "", "set-up: cannot start /p: Resource temp" },
	{ { .status = EXITED(0), .left = 12, .left_state = 'D', .left_name = "\x1b[2J\xff" },
	  false,
	  GOOD,
	  "",
	  "timeout: process 12 (?[2J?) was killed but does not die" },
};

static void judge(const struct row *row, const char *out, struct problem *ret, bool *ret_any)
{
	CLEANUP(freep) struct err_tail *tail = xcalloc(1, sizeof(*tail));
	struct probe_output output;
	struct probe_end end = {
		.probe = "p",
		.path = "/p",
		.output = &output,
		.err_tail = tail,
		.supervisor = &row->supervisor,
		.budget_us = 5 * USEC_PER_SEC,
		.aborted = row->aborted,
	};

	probe_output_init(&output);
	(void)probe_output_feed(&output, out, strlen(out));
	probe_output_end(&output);
	err_tail_add(tail, row->errors, strlen(row->errors));
	*ret_any = probe_problem_judge(&end, ret);
	probe_output_release(&output);
}

static void the_weightiest_problem_is_told_with_the_others_in_its_words(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *said = NULL;
		struct problem p = { 0 };
		bool any;

		judge(&rows[i], rows[i].out, &p, &any);
		said = any ? xasprintf("%s: %s", problem_code_names[p.code], p.detail)
			   : xstrdup("");
		CHECK_HAS(said, rows[i].want);
		CHECK_EQ(any, rows[i].want[0] != '\0');
		CHECK(strstr(said, rows[i].want) == said);
		if (rows[i].also_want)
			CHECK_HAS(said, rows[i].also_want);
		else
			CHECK(!strstr(said, "; also"));
		problem_release(&p);
	}
}

static void too_much_outweighs_how_it_died_of_it(void)
{
	const struct row row = { .supervisor = { .status = DIED(SIGKILL), .stopped = true },
				 .errors = "words" };
	CLEANUP(freep) char *line = xcalloc(70 * 1024 + 1, 1);
	struct problem p = { 0 };
	bool any;

	memset(line, 'x', 70 * 1024);
	judge(&row, line, &p, &any);
	CHECK(any);
	CHECK_EQ(p.code, PROBLEM_TOO_MUCH);
	CHECK_STR(p.detail, "printed a line of more than 64 KiB");
	CHECK_STR(p.err_tail, "words");
	CHECK_STR(p.probe, "p");
	problem_release(&p);
}

static const struct test tests[] = {
	TEST(the_weightiest_problem_is_told_with_the_others_in_its_words),
	TEST(too_much_outweighs_how_it_died_of_it),
};

TEST_SUITE(tests);
