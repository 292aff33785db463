/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/trend.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/stats.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static void it_keeps_the_last_ratios(void)
{
	double ratios[TREND_MAX];
	struct trend t = { .n = 0 };
	size_t i;

	CHECK(isnan(trend_usual(&t)));
	CHECK_EQ(trend_ratios(&t, ratios), 0);
	for (i = 0; i < 3; i++)
		trend_push(&t, 0.9);
	CHECK_EQ(trend_ratios(&t, ratios), 3);
	CHECK(fabs(trend_usual(&t) - 0.9) < 0.0002);
	for (i = 0; i < TREND_MAX; i++)
		trend_push(&t, 1.1);
	CHECK_EQ(trend_ratios(&t, ratios), TREND_MAX);
	for (i = 0; i < TREND_MAX; i++)
		CHECK(fabs(ratios[i] - 1.1) < 0.0002);
}

static void what_is_no_ratio_is_not_noted(void)
{
	static const double bad[] = { 0, -1, NAN, INFINITY };
	struct trend t = { .n = 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		trend_push(&t, bad[i]);
	CHECK_EQ(t.n, 0);
	trend_push(&t, 1e300);
	trend_push(&t, 1e-300);
	CHECK_EQ(t.n, 2);
	CHECK(isfinite(trend_usual(&t)));
}

static void one_odd_run_does_not_move_what_is_usual(void)
{
	struct trend t = { .n = 0 };
	size_t i;

	trend_push(&t, 0.7);
	for (i = 0; i < 4; i++)
		trend_push(&t, 1);
	trend_push(&t, 1.4);
	CHECK(fabs(trend_usual(&t) - 1) < 0.0002);
}

static void a_center_is_without_the_extremes(void)
{
	static const struct {
		double values[8];
		size_t n;
		double center;
	} rows[] = {
		{ { 5 }, 1, 5 },
		{ { 2, 8 }, 2, 4 },
		{ { 0.01, 3, 900 }, 3, 3 },
		{ { 1, 2, 2, 2, 2, 2, 2, 90 }, 8, 2 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(fabs(trend_center(rows[i].values, rows[i].n) / rows[i].center - 1) < 1e-9);
	CHECK(isnan(trend_center(NULL, 0)));
}

/* It must err less than the median of as many, or there were no need of it. */
static void a_center_of_eight_errs_less_than_their_median(void)
{
	struct random chance = random_seeded(7);
	double squares[2] = { 0, 0 };
	size_t i, j;

	for (i = 0; i < 4000; i++) {
		double values[8], error;

		for (j = 0; j < 8; j++)
			values[j] = random_normal(&chance, 1, 0.02);
		stats_sort(values, 8);
		error = trend_center(values, 8) - 1;
		squares[0] += error * error;
		error = stats_median(values, 8) - 1;
		squares[1] += error * error;
	}
	CHECK(sqrt(squares[0] / squares[1]) < 0.92);
}

/* --- in a verdict --- */

static double usual_ratio;

static size_t usual(void *context, const struct sample *s, double *ret_ratios)
{
	const char *subject = context;
	size_t i;

	if (!streq(s->subject, subject))
		return 0;
	for (i = 0; i < TREND_MAX; i++)
		ret_ratios[i] = usual_ratio;
	return TREND_MAX;
}

/* A part 6 % low: well for one that was always so, bad for one that was the best. */
static void a_part_is_held_against_what_it_was_beside_its_peers(void)
{
	static const struct {
		double ratio;
		int usual;
	} rows[] = { { 0.94, USUAL_KEPT }, { 1.00, USUAL_DROPPED }, { 1.04, USUAL_DROPPED } };
	struct judge_inputs inputs = { .usual = usual, .usual_context = (char[]){ "cpu:3" } };
	double hot;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		/* Whatever all of them have in common. */
		for (hot = 0.9; hot < 1.05; hot += 0.1) {
			const double cores[] = { hot * 70, hot * 70.5, hot * 69.5, hot * 65.8,
						 hot * 70, hot * 70.2, hot * 69.8, hot * 70 };
			struct report report = report_make();
			const struct verdict *v;

			report_put_cores(&report, cores, ARRAY_SIZE(cores));
			usual_ratio = rows[i].ratio;
			v = judged(&report, &inputs);
			CHECK_EQ(item_find(v, "gemm.rate", "cpu:3")->usual, rows[i].usual);
			CHECK_EQ(item_find(v, "gemm.rate", "cpu:2")->usual, USUAL_UNKNOWN);
			report_release(&report);
		}
	}
	judged_done();
}

/* The host as a whole: `whole_of` says what it is held against. */
static double whole_expected;

static size_t whole(void *context, const struct sample *s, const struct measure *m,
		    struct expectation *ret)
{
	double values[TREND_MAX];
	size_t i;

	(void)context;
	(void)s;
	for (i = 0; i < TREND_MAX; i++)
		values[i] = whole_expected;
	return expectation_from_history(m, values, TREND_MAX, ret);
}

static void parts_that_are_low_together_are_an_item_of_the_host(void)
{
	static const double cores[] = { 70, 71, 69, 70, 70, 72, 68, 70 };
	const struct judge_inputs inputs = { .whole = whole };
	struct report report = report_make();
	const struct verdict_item *item;

	report_put_cores(&report, cores, ARRAY_SIZE(cores));
	whole_expected = 72;
	CHECK_EQ(item_level(judged(&report, &inputs), "gemm.rate", "host1"), -1);
	whole_expected = 78;
	item = item_find(judged(&report, &inputs), "gemm.rate", "host1");
	CHECK_EQ(item->level, VERDICT_WARN);
	CHECK_EQ(item->usual, USUAL_DROPPED);
	CHECK_HAS(item->sentence, "host1 runs at 70");
	report_release(&report);
	judged_done();
}

static double two_percent(void *context, const struct sample *s)
{
	(void)context;
	return 0.02 * s->value;
}

static size_t whole_of_fleet(void *context, const struct sample *s, const struct measure *m,
			     struct expectation *ret)
{
	const struct center hosts = { .median = whole_expected, .sigma = 0.5, .n = 20 };

	(void)context;
	(void)s;
	return expectation_from_fleet(m, &hosts, ret);
}

/* They move the center by more than good hosts differ, but not what the others reach. */
static void two_parts_that_stand_out_are_not_the_host(void)
{
	static const struct {
		double cores[8];
		int level;
	} rows[] = {
		{ { 45, 40, 70, 70, 71, 69, 70, 70 }, -1 },
		{ { 45, 40, 65, 65, 66, 64, 65, 65 }, VERDICT_WARN },
		/* One its center leaves out anyway; half of them are the host. */
		{ { 40, 64, 66, 66, 66, 67, 67, 68 }, VERDICT_WARN },
		{ { 45, 46, 44, 45, 71, 69, 70, 70 }, VERDICT_WARN },
	};
	struct judge_inputs inputs = { .whole = whole_of_fleet, .within = two_percent };
	size_t i;

	whole_expected = 70;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report report = report_make();

		report_put_cores(&report, rows[i].cores, ARRAY_SIZE(rows[i].cores));
		inputs.whole = whole_of_fleet;
		CHECK_EQ(item_level(judged(&report, &inputs), "gemm.rate", "host1"), rows[i].level);
		/* It was better before: that is no part's birth. */
		inputs.whole = whole;
		CHECK(item_level(judged(&report, &inputs), "gemm.rate", "host1") >= VERDICT_WARN);
		report_release(&report);
	}
	judged_done();
}

static const struct test tests[] = {
	TEST(it_keeps_the_last_ratios),
	TEST(what_is_no_ratio_is_not_noted),
	TEST(one_odd_run_does_not_move_what_is_usual),
	TEST(a_center_is_without_the_extremes),
	TEST(a_center_of_eight_errs_less_than_their_median),
	TEST(a_part_is_held_against_what_it_was_beside_its_peers),
	TEST(parts_that_are_low_together_are_an_item_of_the_host),
	TEST(two_parts_that_stand_out_are_not_the_host),
};

TEST_SUITE(tests);
