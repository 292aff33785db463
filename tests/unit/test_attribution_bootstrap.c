/* SPDX-License-Identifier: Apache-2.0 */
/* Confidence intervals from steps: their width, when there is none, and reproducibility. */
#include <math.h>
#include <stdlib.h>

#include "attribution/bootstrap.h"
#include "tests/unit/test.h"

enum { STEPS = 64, TRIALS = 400, DRAWS = 200 };

/* A number in [0, 1) that follows from the one before. */
static double chance(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) / 0x1p53;
}

static double normal(uint64_t *state)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += chance(state);
	return sum;
}

/* The interval of the mean of some times. */
static struct interval of_mean(const double *times, size_t n)
{
	struct bootstrap b = bootstrap_new(n, DRAWS);
	double means[DRAWS + 1];
	struct interval interval;

	bootstrap_means(&b, times, means);
	interval = bootstrap_interval(&b, means);
	bootstrap_release(&b);
	return interval;
}

static void what_never_changes_is_certain(void)
{
	double times[STEPS];
	struct interval interval;
	size_t i;

	for (i = 0; i < STEPS; i++)
		times[i] = 2.5;
	interval = of_mean(times, STEPS);
	CHECK_NEAR(interval.value, 2.5, 0);
	CHECK_NEAR(interval.low, 2.5, 0);
	CHECK_NEAR(interval.high, 2.5, 0);
}

static void of_few_steps_nothing_is_said(void)
{
	double times[BOOTSTRAP_STEPS_MIN] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	size_t n;

	for (n = 1; n < BOOTSTRAP_STEPS_MIN; n++) {
		struct interval interval = of_mean(times, n);

		CHECK_NEAR(interval.value, (double)(n + 1) / 2, 1e-12);
		CHECK(isnan(interval.low) && isnan(interval.high));
	}
	CHECK(of_mean(times, n).low < 5.5 && of_mean(times, n).high > 5.5);
}

static void the_same_steps_give_the_same_interval(void)
{
	uint64_t state = 1;
	double times[STEPS];
	struct interval once, again;
	size_t i;

	for (i = 0; i < STEPS; i++)
		times[i] = normal(&state);
	once = of_mean(times, STEPS);
	again = of_mean(times, STEPS);
	CHECK_NEAR(once.low, again.low, 0);
	CHECK_NEAR(once.high, again.high, 0);
}

static void a_draw_is_a_mean_of_steps_that_were(void)
{
	struct bootstrap b = bootstrap_new(11, DRAWS);
	double times[11], means[DRAWS + 1];
	size_t i, apart = 0;

	for (i = 0; i < 11; i++)
		times[i] = (double)(i + 1);
	bootstrap_means(&b, times, means);
	CHECK_NEAR(means[0], 6, 1e-12);
	for (i = 1; i <= DRAWS; i++) {
		/* Three blocks, the last cut to three steps: whole sums. */
		CHECK_NEAR(means[i] * 11, nearbyint(means[i] * 11), 1e-9);
		CHECK(means[i] > 2 && means[i] < 10);
		apart += fabs(means[i] - 6) > 0.1;
	}
	CHECK(apart > DRAWS / 2);
	bootstrap_release(&b);
}

/* Of 400 intervals of 95 % about 380 hold the truth; blocks of few steps hold it a little less often. */
static void an_interval_holds_the_truth_about_as_often_as_it_says(void)
{
	static const size_t sizes[] = { 12, 20, STEPS };
	double times[STEPS];
	uint64_t state = 7;
	size_t s, trial, i;

	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		size_t held = 0;

		for (trial = 0; trial < TRIALS; trial++) {
			struct interval interval;

			for (i = 0; i < sizes[s]; i++)
				times[i] = 3 + normal(&state);
			interval = of_mean(times, sizes[s]);
			CHECK(interval.low <= interval.value && interval.value <= interval.high);
			held += interval.low <= 3 && 3 <= interval.high;
		}
		CHECK(held > TRIALS * 80 / 100);
		CHECK(held < TRIALS * 99 / 100);
	}
}

/* Times that stay for four steps say a quarter of what as many independent ones do. */
static void steps_that_are_alike_say_less(void)
{
	double alike[STEPS], apart[STEPS];
	double of_alike = 0, of_apart = 0;
	uint64_t state = 3;
	size_t trial, i;

	for (trial = 0; trial < 50; trial++) {
		struct interval wide, narrow;

		for (i = 0; i < STEPS; i++) {
			apart[i] = normal(&state);
			alike[i] = i % 4 ? alike[i - 1] : normal(&state);
		}
		wide = of_mean(alike, STEPS);
		narrow = of_mean(apart, STEPS);
		of_alike += wide.high - wide.low;
		of_apart += narrow.high - narrow.low;
	}
	CHECK(of_alike > 1.4 * of_apart);
}

static void what_cannot_be_said_of_a_draw_cannot_be_said(void)
{
	struct bootstrap b = bootstrap_new(STEPS, BOOTSTRAP_DRAWS_MIN);
	double values[BOOTSTRAP_DRAWS_MIN + 1] = { 1 };
	struct interval interval;

	values[5] = NAN;
	interval = bootstrap_interval(&b, values);
	CHECK_NEAR(interval.value, 1, 0);
	CHECK(isnan(interval.low) && isnan(interval.high));
	bootstrap_release(&b);
}

static const struct test tests[] = {
	TEST(what_never_changes_is_certain),
	TEST(of_few_steps_nothing_is_said),
	TEST(the_same_steps_give_the_same_interval),
	TEST(a_draw_is_a_mean_of_steps_that_were),
	TEST(an_interval_holds_the_truth_about_as_often_as_it_says),
	TEST(steps_that_are_alike_say_less),
	TEST(what_cannot_be_said_of_a_draw_cannot_be_said),
};

TEST_SUITE(tests);
