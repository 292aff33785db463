/* SPDX-License-Identifier: Apache-2.0 */
/* Did it help to restart a job without the excluded hosts? */
#include "controller/job/diagnosis_rerun.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static void a_run_is_faster_or_slower_beyond_what_runs_differ_by(void)
{
	static const struct {
		double before_s, after_s;
		int outcome;
	} rows[] = {
		{ 8.99, 8.31, DIAGNOSIS_RERUN_FASTER },	   { 100, 96.9, DIAGNOSIS_RERUN_FASTER },
		{ 100, 97.1, DIAGNOSIS_RERUN_SAME },	   { 100, 100, DIAGNOSIS_RERUN_SAME },
		{ 100, 102.9, DIAGNOSIS_RERUN_SAME },	   { 100, 103.1, DIAGNOSIS_RERUN_SLOWER },
		{ NAN, 8.31, DIAGNOSIS_RERUN_UNKNOWN },	   { 0, 8.31, DIAGNOSIS_RERUN_UNKNOWN },
		{ -1, 8.31, DIAGNOSIS_RERUN_UNKNOWN },	   { INFINITY, 8, DIAGNOSIS_RERUN_UNKNOWN },
		{ 8.99, NAN, DIAGNOSIS_RERUN_UNKNOWN },	   { 8.99, 0, DIAGNOSIS_RERUN_UNKNOWN },
		{ 1e-300, 1e300, DIAGNOSIS_RERUN_SLOWER },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(diagnosis_rerun_outcome(rows[i].before_s, rows[i].after_s),
			 rows[i].outcome);
}

static void check_words(json_t *names, double before_s, double after_s, const char *expected)
{
	CLEANUP(json_freep) json_t *excluded = names;
	CLEANUP(freep) char *words = diagnosis_rerun_words(2, excluded, before_s, after_s);

	CHECK_STR(words, expected);
}

static void it_is_said_with_both_figures(void)
{
	check_words(json_pack("[s]", "gpu-08"), 8.99, 8.31,
		    "run 2 without gpu-08: 8.99 s -> 8.31 s a step: faster by 7.6 %");
	check_words(json_pack("[s, s]", "gpu-08", "gpu-09"), 8.99, 8.97,
		    "run 2 without gpu-08, gpu-09: 8.99 s -> 8.97 s a step: no faster (-0.2 %, and "
		    "runs differ by 3 %): the excluded hosts were not what slowed it down");
	check_words(json_pack("[s]", "gpu-08"), 8, 10,
		    "run 2 without gpu-08: 8 s -> 10 s a step: slower by 25.0 %: the excluded "
		    "hosts were not what slowed it down");
	check_words(json_pack("[s]", "gpu-08"), NAN, 0.0831,
		    "run 2 without gpu-08: 0.0831 s a step; the step time before is unknown");
	check_words(json_pack("[s, s, s, s, s, s, s, s, s, s]", "a", "b", "c", "d", "e", "f", "g",
			      "h", "i", "j"),
		    2, 1,
		    "run 2 without a, b, c, d, e, f, g, h and 2 more: 2 s -> 1 s a step: faster by "
		    "50.0 %");
}

static const struct test tests[] = {
	TEST(a_run_is_faster_or_slower_beyond_what_runs_differ_by),
	TEST(it_is_said_with_both_figures),
};

TEST_SUITE(tests);
