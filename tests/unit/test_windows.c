/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/windows.h"

#include "tests/unit/test.h"

/* Runs as text, oldest first: 'x' bad, '.' good. */
static struct windows windows_of(const char *runs)
{
	struct windows w = { 0 };

	for (; *runs; runs++)
		windows_push(&w, *runs == 'x');
	return w;
}

static void k_of_n_are_counted_from_the_newest(void)
{
	static const struct {
		const char *runs;
		unsigned k, n, bad;
		bool reached, clear;
	} rows[] = {
		{ "", 1, 1, 0, false, false },	   { "x", 1, 1, 1, true, false },
		{ "x", 2, 3, 1, false, false },	   { "xx", 2, 3, 2, true, false },
		{ "x.x", 2, 3, 2, true, false },   { "x..x", 2, 3, 1, false, false },
		{ "xx...", 2, 3, 0, false, true }, { "xx..", 2, 3, 1, false, false },
		{ "..", 2, 3, 0, false, false },   { "...", 2, 3, 0, false, true },
		{ "x", 0, 0, 1, true, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct windows w = windows_of(rows[i].runs);

		CHECK_EQ(windows_bad(&w, rows[i].n), rows[i].bad);
		CHECK_EQ(windows_reached(&w, rows[i].k, rows[i].n), rows[i].reached);
		CHECK_EQ(windows_clear(&w, rows[i].n), rows[i].clear);
	}
}

static void many_runs_are_no_more_than_64(void)
{
	struct windows w = { 0 };
	unsigned i;

	for (i = 0; i < 1000; i++)
		windows_push(&w, true);
	CHECK_EQ(w.n, WINDOWS_MAX);
	CHECK_EQ(windows_bad(&w, WINDOWS_MAX), WINDOWS_MAX);
	CHECK_EQ(windows_bad(&w, 1000), WINDOWS_MAX);
	CHECK_EQ(windows_good(&w), 0);
	windows_push(&w, false);
	windows_push(&w, false);
	CHECK_EQ(windows_good(&w), 2);
}

static const struct test tests[] = {
	TEST(k_of_n_are_counted_from_the_newest),
	TEST(many_runs_are_no_more_than_64),
};

TEST_SUITE(tests);
