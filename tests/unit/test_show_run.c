/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/show_run.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "agents/run/live.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "lib/sys/term.h"
#include "tests/unit/test.h"

enum { ITEMS = 40 };

/* Static text in places that own theirs elsewhere: nothing here is released. */
static char *fixed(const char *text)
{
	char *same;

	memcpy(&same, &text, sizeof(same));
	return same;
}

static struct verdict_item item(int level, const char *check, const char *subject, double value)
{
	return (struct verdict_item){
		.check = fixed(check),
		.subject = fixed(subject),
		.level = level,
		.value = value,
		.unit = fixed("B/s"),
		.expected = level == VERDICT_PASS ? NAN : 20e9,
		.floor = NAN,
		.source = level == VERDICT_PASS ? SOURCE_SELF : SOURCE_PEERS,
		.sentence = fixed("mlx5_0 is slow"),
	};
}

struct scene {
	struct report report;
	struct verdict verdict;
	struct verdict_item items[ITEMS];
};

static void scene_start(struct scene *s, int level)
{
	*s = (struct scene){
		.report = { .node = fixed("n7"),
			    .profile = fixed("quick"),
			    .time = fixed("2026-11-21T01:02:03.000Z"),
			    .seq = 12,
			    .duration_s = 31.26 },
		.verdict = { .level = level, .sentence = fixed("the culprit is mlx5_0") },
	};
	s->verdict.items = s->items;
}

static void scene_add(struct scene *s, struct verdict_item added)
{
	s->items[s->verdict.n_items++] = added;
}

static char *show(const struct scene *s, bool colour, unsigned width)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	show_run(&s->report, &s->verdict, NULL, out, colour, width);
	(void)fclose(out);
	return text;
}

static char *line(int level, enum exit_style style)
{
	struct scene s;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	scene_start(&s, level);
	show_line(&s.verdict, style, out);
	(void)fclose(out);
	return text;
}

static void the_verdict_comes_first_and_the_culprit_last(void)
{
	CLEANUP(freep) char *text = NULL;
	struct scene s;

	scene_start(&s, VERDICT_FAIL);
	scene_add(&s, item(VERDICT_FAIL, "loopback.write_bw", "mlx5_0", 12e9));
	scene_add(&s, item(VERDICT_PASS, "loopback.write_bw", "mlx5_1", 20e9));
	text = show(&s, false, UINT_MAX);
	CHECK_STR(text, "FAIL  n7, quick, 2026-11-21T01:02:03.000Z, 31.3 s, run 12\n"
			"\n"
			"VERDICT  CHECK              SUBJECT      VALUE   EXPECTED  FLOOR  FROM\n"
			"fail     loopback.write_bw  mlx5_0   12.0 GB/s  20.0 GB/s         peers\n"
			"    mlx5_0 is slow\n"
			"pass     loopback.write_bw  mlx5_1   20.0 GB/s                    probe\n"
			"\n"
			"the culprit is mlx5_0\n");
}

static void passes_of_one_check_are_one_line_with_their_range(void)
{
	CLEANUP(freep) char *text = NULL;
	struct scene s;
	int i;

	scene_start(&s, VERDICT_PASS);
	for (i = 0; i < 8; i++)
		scene_add(&s, item(VERDICT_PASS, "a.bw", "x", 19e9 + i * 1e8));
	scene_add(&s, item(VERDICT_PASS, "b.bw", "y", 1e6));
	scene_add(&s, item(VERDICT_PASS, "b.bw", "z", 2e6));
	for (i = 0; i < 3; i++)
		scene_add(&s, item(VERDICT_PASS, "c.bw", "x", i ? 1e3 : 1e9));
	text = show(&s, false, UINT_MAX);
	CHECK_HAS(text, "\npass     a.bw   all 8           19.0..19.7 GB/s");
	CHECK_HAS(text, "\npass     b.bw   y                     1.00 MB/s");
	CHECK_HAS(text, "\npass     b.bw   z                     2.00 MB/s");
	CHECK_HAS(text, "\npass     c.bw   all 3    1.00 kB/s .. 1.00 GB/s");
}

static void what_was_held_against_nothing_is_no_pass(void)
{
	CLEANUP(freep) char *text = NULL, *mixed = NULL, *bad = NULL;
	struct scene s;

	scene_start(&s, VERDICT_PASS);
	scene_add(&s, item(VERDICT_PASS, "memory.read_bw", "numa:0", 7.98e9));
	scene_add(&s, item(VERDICT_PASS, "inventory.dimm_bytes", "host", 24 * 1024.0 * 1024 * 1024));
	s.items[0].unjudged = s.items[1].unjudged = true;
	s.items[1].unit = fixed("1");
	text = show(&s, false, UINT_MAX);
	CHECK(starts_with(text, "MEASURED  n7"));
	CHECK_HAS(text,
		  "\nmeasured  memory.read_bw        numa:0   7.98 GB/s                   -\n");
	CHECK_HAS(text,
		  "\nmeasured  inventory.dimm_bytes  host      24.0 GiB                   -\n");
	CHECK(!strstr(text, "pass"));

	scene_add(&s, item(VERDICT_PASS, "memory.read_bw", "numa:1", 8e9));
	scene_add(&s, item(VERDICT_PASS, "memory.read_bw", "numa:2", 8e9));
	mixed = show(&s, false, UINT_MAX);
	CHECK(starts_with(mixed, "PASS  n7"));
	CHECK_HAS(mixed, "\nmeasured  memory.read_bw        numa:0");
	CHECK_HAS(mixed, "\npass      memory.read_bw        numa:2");

	s.verdict.level = VERDICT_FAIL;
	scene_add(&s, item(VERDICT_FAIL, "a.bw", "x", 1e9));
	bad = show(&s, false, UINT_MAX);
	CHECK(starts_with(bad, "FAIL  n7"));
	CHECK_HAS(bad, "\nthe culprit is mlx5_0\n"
		       "2 of 5 checks measured, not judged: nothing to compare with\n");
}

static void bad_ones_beyond_the_limit_are_counted(void)
{
	CLEANUP(freep) char *text = NULL;
	struct scene s;
	const char *at;
	int i, n = 0;

	scene_start(&s, VERDICT_FAIL);
	for (i = 0; i < SHOW_ITEMS_MAX + 7; i++)
		scene_add(&s, item(VERDICT_FAIL, "a.bw", "x", 1e9));
	text = show(&s, false, UINT_MAX);
	for (at = text; (at = strstr(at, "\nfail ")); at++)
		n++;
	CHECK_EQ(n, SHOW_ITEMS_MAX + 1);
	CHECK_HAS(text, "and 7 more");
}

static void problems_are_listed_with_the_tail_of_their_stderr(void)
{
	CLEANUP(freep) char *text = NULL;
	struct scene s;
	struct problem problems[] = {
		{ .probe = fixed("gemm"),
		  .code = PROBLEM_CRASHED,
		  .detail = fixed("died by signal 11"),
		  .err_tail = fixed("one\ntwo") },
		{ .probe = fixed("memory"), .code = PROBLEM_EMPTY },
		{ .probe = fixed("gpu-state"),
		  .code = PROBLEM_EXIT,
		  .detail = fixed("exit status 1: no driver"),
		  .err_tail = fixed("no driver\n") },
	};

	scene_start(&s, VERDICT_INCONCLUSIVE);
	s.report.problems = problems;
	s.report.n_problems = ARRAY_SIZE(problems);
	text = show(&s, false, 80);
	CHECK_HAS(text, "INCONCLUSIVE  n7");
	CHECK_HAS(text, "\nnothing was measured\n");
	CHECK_HAS(text,
		  "\nnot measured\n  gemm: crashed: died by signal 11\n      one\n      two\n"
		  "  memory: printed nothing\n  gpu-state: failed: exit status 1: no driver\n\n");
}

static void the_verdict_is_coloured_by_what_it_is(void)
{
	static const struct {
		int level;
		const char *text;
	} cases[] = {
		{ VERDICT_PASS, "\033[32mPASS\033[0m  " },
		{ VERDICT_WARN, "\033[33mWARN\033[0m  " },
		{ VERDICT_FAIL, "\033[1;31mFAIL\033[0m  " },
		{ VERDICT_INCONCLUSIVE, "\033[36mINCONCLUSIVE\033[0m  " },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *text = NULL;
		struct scene s;

		scene_start(&s, cases[i].level);
		text = show(&s, true, 80);
		CHECK(starts_with(text, cases[i].text));
	}
}

static void a_run_without_a_number_does_not_show_one(void)
{
	CLEANUP(freep) char *text = NULL;
	struct scene s;

	scene_start(&s, VERDICT_PASS);
	s.report.seq = 0;
	text = show(&s, false, 80);
	CHECK_HAS(text, "31.3 s\n");
}

static void other_styles_get_the_line_they_expect(void)
{
	static const struct {
		int level;
		enum exit_style style;
		const char *text;
	} cases[] = {
		{ VERDICT_PASS, EXIT_NAGIOS, "ASSAY OK - the culprit is mlx5_0\n" },
		{ VERDICT_WARN, EXIT_NAGIOS, "ASSAY WARNING - the culprit is mlx5_0\n" },
		{ VERDICT_FAIL, EXIT_NAGIOS, "ASSAY CRITICAL - the culprit is mlx5_0\n" },
		{ VERDICT_INCONCLUSIVE, EXIT_NAGIOS, "ASSAY UNKNOWN - the culprit is mlx5_0\n" },
		{ VERDICT_FAIL, EXIT_NHC, "ERROR: assay: the culprit is mlx5_0\n" },
		{ VERDICT_WARN, EXIT_NHC, "" },
		{ VERDICT_INCONCLUSIVE, EXIT_NHC, "" },
		{ VERDICT_FAIL, EXIT_NPD, "the culprit is mlx5_0\n" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *text = line(cases[i].level, cases[i].style);

		CHECK_STR(text, cases[i].text);
	}
}

static void the_live_line_says_which_probe_and_how_long(void)
{
	const struct runner_progress p = {
		.probe = "gemm",
		.done = 1,
		.total = 3,
		.probe_left_us = 8500 * USEC_PER_MSEC,
		.run_left_us = 40 * USEC_PER_SEC,
	};
	char text[128];

	live_line(&p, text, sizeof(text), 80);
	CHECK_STR(text, "gemm (2 of 3), 9 s left, at most 40 s in all");
	live_line(&p, text, sizeof(text), 20);
	CHECK_STR(text, "gemm (2 of 3), 9 s ");
	live_line(&p, text, 8, 80);
	CHECK_STR(text, "gemm (2");
}

static void the_live_line_is_silent_where_there_is_no_terminal(void)
{
	const struct runner_progress p = { .probe = "gemm", .total = 1 };
	FILE *out = tmpfile();
	struct live live;

	live_init(&live, out);
	live_progress(&live, &p);
	live_end(&live);
	CHECK_EQ(ftell(out), 0);
	(void)fclose(out);
}

static const struct test tests[] = {
	TEST(the_verdict_comes_first_and_the_culprit_last),
	TEST(passes_of_one_check_are_one_line_with_their_range),
	TEST(what_was_held_against_nothing_is_no_pass),
	TEST(bad_ones_beyond_the_limit_are_counted),
	TEST(problems_are_listed_with_the_tail_of_their_stderr),
	TEST(the_verdict_is_coloured_by_what_it_is),
	TEST(a_run_without_a_number_does_not_show_one),
	TEST(other_styles_get_the_line_they_expect),
	TEST(the_live_line_says_which_probe_and_how_long),
	TEST(the_live_line_is_silent_where_there_is_no_terminal),
};

TEST_SUITE(tests);
