/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/standing.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static const double cores[] = { 70, 71, 72, 10, 70, 71, 72, 70 };

/* A run in which cpu:3 is slow and the data of cpu:0 are wrong. */
static struct report earlier_report(void)
{
	struct report r = report_make();
	struct sample *s;

	report_put_cores(&r, cores, ARRAY_SIZE(cores));
	s = report_put(&r, "gemm.correct", "cpu:0", 0);
	s->ok = TRI_NO;
	s->severity = SEVERITY_FATAL;
	report_put(&r, "memory.copy_bw", "numa:0", 1e9);
	return r;
}

static struct verdict judge(const struct report *r)
{
	struct verdict v;

	verdict_judge(r, NULL, &v);
	return v;
}

/* How many items stand after `now`, and whether a look was worth while. */
static size_t stands(const struct report *now, struct verdict *ret)
{
	struct report before = earlier_report();
	struct verdict newer = judge(now);
	bool possible = standing_possible(now, &newer);

	*ret = judge(&before);
	standing_keep(ret, now, &newer);
	CHECK(possible || ret->n_items == 0);
	verdict_release(&newer);
	report_release(&before);
	return ret->n_items;
}

static void what_a_probe_that_did_not_run_found_before_stands(void)
{
	static const struct {
		int code;
		size_t n;
		int level;
	} rows[] = {
		{ PROBLEM_BUSY, 9, VERDICT_FAIL },
		{ PROBLEM_TIMEOUT, 9, VERDICT_FAIL },
		{ PROBLEM_SET_UP, 9, VERDICT_FAIL },
		{ PROBLEM_EMPTY, 9, VERDICT_FAIL },
		{ PROBLEM_NOT_APPLICABLE, 0, VERDICT_INCONCLUSIVE },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report now = report_make();
		struct verdict v;

		report_put_problem(&now, "gemm", rows[i].code, "so it is");
		CHECK_EQ(stands(&now, &v), rows[i].n);
		CHECK_EQ(v.level, rows[i].level);
		CHECK(rows[i].n == 0 || strstr(v.sentence, "cpu:0"));
		CHECK_EQ(item_level(&v, "memory.copy_bw", "numa:0"), -1);
		verdict_release(&v);
		report_release(&now);
	}
}

/* The run of reports.c was at 10:00 on the first of March; standing ends after a week, but of a
 * fatal one. */
static void what_is_bad_stands_against_an_aborted_sample_for_its_time(void)
{
	static const struct {
		const char *time;
		int state;
		size_t n;
	} rows[] = {
		{ "2026-03-01T10:00:01Z", SAMPLE_ABORTED, 2 },
		{ "2026-03-08T10:00:00Z", SAMPLE_BUSY, 2 },
		{ "2026-03-08T10:00:01Z", SAMPLE_BUSY, 1 },
		{ "2027-03-08T10:00:01Z", SAMPLE_TIMEOUT, 1 },
		{ "2026-02-01T10:00:00Z", SAMPLE_BUSY, 2 }, /* a clock was set back */
		{ "no time", SAMPLE_SET_UP, 2 },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report now = earlier_report();
		struct verdict v;

		free(now.time);
		now.time = xstrdup(rows[i].time);
		for (k = 0; k < now.n_samples; k++) {
			now.samples[k].state = rows[i].state;
			now.samples[k].ok = TRI_UNKNOWN;
		}
		CHECK_EQ(stands(&now, &v), rows[i].n);
		CHECK_EQ(item_level(&v, "gemm.correct", "cpu:0"), VERDICT_FAIL);
		CHECK_EQ(item_level(&v, "gemm.rate", "cpu:3"), rows[i].n == 2 ? VERDICT_FAIL : -1);
		CHECK_EQ(item_level(&v, "gemm.rate", "cpu:0"), -1); /* it passed */
		CHECK_EQ(v.level, VERDICT_FAIL);
		CHECK(v.n_items == 0 || streq(v.items[0].time, "2026-03-01T10:00:00Z"));
		verdict_release(&v);
		report_release(&now);
	}
}

static void what_was_measured_again_stands_no_more(void)
{
	struct report now = earlier_report();
	struct verdict v;

	CHECK_EQ(stands(&now, &v), 0);
	verdict_release(&v);
	report_release(&now);
}

/* Of several items of one name the worst answers: the one that was measured. */
static void one_part_that_was_measured_is_an_answer(void)
{
	struct report now = report_make();
	struct verdict v;
	struct sample *s;
	int i;

	for (i = 0; i < 2; i++) {
		s = report_put(&now, "gemm.correct", "cpu:0", 0);
		s->ok = i ? TRI_NO : TRI_UNKNOWN;
		s->state = i ? SAMPLE_MEASURED : SAMPLE_BUSY;
		s->severity = SEVERITY_WARN;
	}
	CHECK_EQ(stands(&now, &v), 0);
	verdict_release(&v);
	report_release(&now);
}

static void what_was_not_picked_this_time_stands(void)
{
	static const struct {
		const char *check, *stands, *gone;
	} rows[] = {
		{ "memory.copy_bw", "gemm.rate", "memory.copy_bw" },
		{ "gemm.chain", "memory.copy_bw", "gemm.rate" },
		{ "inventory.cpus", "gemm.rate", NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report now = report_make();
		struct verdict v;

		free(now.profile);
		now.profile = xstrdup(PROFILE_HAND_PICKED);
		report_put(&now, rows[i].check, "numa:1", 1e9);
		CHECK(stands(&now, &v) > 0);
		CHECK(item_level(&v, rows[i].stands,
				 streq(rows[i].stands, "gemm.rate") ? "cpu:3" : "numa:0") >= 0);
		if (rows[i].gone)
			CHECK_EQ(item_level(&v, rows[i].gone,
					    streq(rows[i].gone, "gemm.rate") ? "cpu:3" : "numa:0"),
				 -1);
		verdict_release(&v);
		report_release(&now);
	}
}

static const struct test tests[] = {
	TEST(what_a_probe_that_did_not_run_found_before_stands),
	TEST(what_is_bad_stands_against_an_aborted_sample_for_its_time),
	TEST(what_was_measured_again_stands_no_more),
	TEST(one_part_that_was_measured_is_an_answer),
	TEST(what_was_not_picked_this_time_stands),
};

TEST_SUITE(tests);
