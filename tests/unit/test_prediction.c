/* SPDX-License-Identifier: Apache-2.0 */
/* Predicting a job's step time once its slow host is replaced: the formulas, and their accuracy on
 * simulated jobs. */
#include "controller/job/prediction.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attribution/attribution.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "tests/attribution/as_trace.h"
#include "tests/attribution/inject.h"
#include "tests/unit/test.h"

static struct prediction made(double before_s, double value, double low, double high,
			      double restart_s)
{
	const struct prediction_gain gain = { value, low, high };
	struct prediction p = { 0 };

	CHECK(prediction_make(before_s, &gain, restart_s, &p));
	return p;
}

static void a_gain_becomes_seconds_and_steps(void)
{
	const struct prediction p = made(8.99, 0.68 / 8.99, 0.63 / 8.99, 0.72 / 8.99, 600);

	CHECK_NEAR(p.after_s, 8.31, 1e-9);
	CHECK_NEAR(p.low_s, 8.27, 1e-9);
	CHECK_NEAR(p.high_s, 8.36, 1e-9);
	CHECK_NEAR(p.pays_steps, 883, 1e-9); /* 882.4 steps save 600 s */
	CHECK_NEAR(p.pays_s, 883 * 8.31, 1e-6);
	CHECK(prediction_pays_within(&p, 953 * 8.36 + 1)); /* by the least gain: 600 / 0.63 */
	CHECK(!prediction_pays_within(&p, 953 * 8.36 - 1));
}

static void without_an_interval_the_value_stands_alone(void)
{
	const struct prediction p = made(10, 0.1, NAN, NAN, 0);

	CHECK_NEAR(p.low_s, 9, 1e-9);
	CHECK_NEAR(p.high_s, 9, 1e-9);
	CHECK_NEAR(p.pays_steps, 0, 1e-9);
	CHECK(prediction_pays_within(&p, 0));
}

static void what_is_no_gain_predicts_nothing(void)
{
	static const double steps[] = { 0, -1, NAN, INFINITY, 8.99, 8.99, 8.99, 8.99, 8.99, 8.99 };
	static const double gains[] = { 0.1, 0.1, 0.1, 0.1, 0, -0.1, NAN, 1, INFINITY, 0.1 };
	static const double costs[] = { 600, 600, 600, 600, 600, 600, 600, 600, 600, -1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		const struct prediction_gain gain = { gains[i], 0.05, 0.2 };
		struct prediction p = { .before_s = 7 };

		CHECK(!prediction_make(steps[i], &gain, costs[i], &p));
		CHECK_NEAR(p.before_s, 7, 0);
	}
}

static void an_interval_that_reaches_to_nothing_never_pays(void)
{
	struct prediction p = made(10, 0.05, -0.02, 0.12, 600);

	CHECK_NEAR(p.high_s, 10.2, 1e-9);
	CHECK(!prediction_pays_within(&p, 1e12));
	p = made(10, 0.05, 0.2, 0.01, 600); /* ends the wrong way round: it holds the value still */
	CHECK(p.low_s <= p.after_s && p.after_s <= p.high_s);
}

static void it_holds_within_three_in_a_hundred_or_its_interval(void)
{
	const struct prediction narrow = made(10, 0.1, 0.099, 0.101, 600);
	const struct prediction wide = made(10, 0.1, 0.02, 0.15, 600);

	CHECK(prediction_held(&narrow, 9.0 * 1.0299) && prediction_held(&narrow, 9.0 * 0.9701));
	CHECK(!prediction_held(&narrow, 9.0 * 1.0301) && !prediction_held(&narrow, 9.0 * 0.9699));
	CHECK(prediction_held(&wide, 9.79) && !prediction_held(&wide, 9.81));
	CHECK(prediction_held(&wide, 8.51) && !prediction_held(&wide, 8.49));
	CHECK(!prediction_held(&wide, NAN));
}

static void a_class_is_distrusted_once_no_luck_could_make_it_good(void)
{
	static const struct {
		uint64_t held, checked;
		double least;
		uint64_t of;
		bool expected;
	} rows[] = {
		{ 0, 0, 0.5, 10, false }, { 0, 1, 0.5, 10, false }, { 0, 5, 0.5, 10, false },
		{ 0, 6, 0.5, 10, true },  { 4, 10, 0.5, 10, true }, { 5, 10, 0.5, 10, false },
		{ 4, 9, 0.5, 10, false }, { 0, 1, 0.5, 1, true },   { 1, 1, 1, 1, false },
		{ 9, 10, 1, 10, true },	  { 0, 10, 0, 10, false },  { 0, 1, 1, 0, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(prediction_is_distrusted(rows[i].held, rows[i].checked, rows[i].least,
						  rows[i].of),
			 rows[i].expected);
}

static void windows_weigh_by_their_steps(void)
{
	struct prediction_mean mean = { 0 };

	prediction_add_window(&mean, 8, 10);
	prediction_add_window(&mean, NAN, 10);
	prediction_add_window(&mean, 0, 10);
	prediction_add_window(&mean, 100, 0);
	prediction_add_window(&mean, 9, 30);
	CHECK_NEAR(mean.seconds, 8.75, 1e-9);
	CHECK_EQ(mean.steps, 40);
}

/* --- jobs made to order --- */

#define SPREAD 0.034 /* of good silicon */

enum { STEPS = 20, SEED = 910000 };

/* How many times as long as the mean a good host takes: nearly normal, of twelve chances. */
static double good(const struct job *job, uint64_t n)
{
	double sum = -6;
	uint64_t i;

	for (i = 0; i < 12; i++)
		sum += job_chance(job, 77, n, i, 0);
	return 1 / (1 - SPREAD * MAX(sum, -5.0));
}

/* Good hosts that differ, and the one at `bad` slower by `factor`. */
static struct job *job_of(int dp, int pp, uint64_t seed, int bad, double factor)
{
	struct job *job = xcalloc(1, sizeof(*job));
	struct job sizes = { .dp = dp, .pp = pp, .mb = MAX(4 * pp, 8), .tp = 8, .steps = STEPS };
	int i;

	injection_job(injection_find("none"), &sizes, seed, job);
	for (i = 0; i < dp * pp; i++)
		job->slow[job->n_slow++] =
			(struct job_slow){ i / pp, i % pp, 0, STEPS,
					   good(job, (uint64_t)i) * (i == bad ? factor : 1) };
	return job;
}

static struct attribution *attribute(const struct job *job)
{
	struct attribution_options how = ATTRIBUTION_OPTIONS;
	struct attribution *a = NULL;
	struct err err = ERR_INIT;

	how.n_threads = 1;
	how.nodes = false;
	CHECK_EQ(attribution_new(job_as_trace(job), &how, &a, &err), 0);
	return a;
}

/* As the summary of a window says it. */
static double median_step(const struct attribution *a)
{
	CLEANUP(freep) double *times = xcalloc(a->trace->n_steps, sizeof(*times));

	memcpy(times, a->slowdown.step_recorded, a->trace->n_steps * sizeof(*times));
	return stats_median_of(times, a->trace->n_steps);
}

/*
 * The host is slower by 10 to 25 %; in the next run another good host has its place, by the same
 * lottery, and all else is drawn anew but how fast the others are. 1: it came within the tolerance.
 */
static int replace(uint64_t seed, bool *ret_suspected, bool *ret_held)
{
	static const int shapes[][2] = { { 16, 1 }, { 8, 2 }, { 4, 4 } };
	const int *shape = shapes[seed % ARRAY_SIZE(shapes)];
	const int bad = (int)(seed * 7 % (uint64_t)(shape[0] * shape[1]));
	CLEANUP(freep)
	struct job *slow = job_of(shape[0], shape[1], seed, bad, 1.1 + 0.03 * (double)(seed % 6));
	CLEANUP(freep) struct job *next = job_of(shape[0], shape[1], seed, -1, 1);
	CLEANUP(attribution_freep) struct attribution *before = attribute(slow);
	CLEANUP(attribution_freep) struct attribution *after = NULL;
	const struct interval *gain = &before->suspects.gain;
	struct prediction p;

	*ret_suspected = before->suspects.counts && before->suspects.n == 1 &&
			 before->suspects.list[0].worst == (uint32_t)bad;
	if (!*ret_suspected)
		return 0;
	next->slow[bad].factor = good(next, 1000);
	next->seed += UINT64_C(1) << 32;
	after = attribute(next);
	p = made(median_step(before), gain->value, gain->low, gain->high, 600);
	*ret_held = prediction_held(&p, median_step(after));
	return fabs(median_step(after) / p.after_s - 1) <= PREDICTION_TOLERANCE;
}

static void nine_of_ten_predictions_come_within_three_in_a_hundred(void)
{
	const uint64_t n = test_times(3000, 240);
	uint64_t suspected = 0, near = 0, held = 0, i;

	for (i = 0; i < n; i++) {
		bool is_suspected = false, is_held = false;

		near += (uint64_t)replace(SEED + i, &is_suspected, &is_held);
		suspected += is_suspected;
		held += is_held;
	}
	printf("%llu jobs, %llu with the slow host suspected: %llu within %.0f %%, %llu held\n",
	       (unsigned long long)n, (unsigned long long)suspected, (unsigned long long)near,
	       PREDICTION_TOLERANCE * 100, (unsigned long long)held);
	CHECK(suspected >= n / 4);
	CHECK(10 * near >= 9 * suspected);
	CHECK(held >= near);
}

static const struct test tests[] = {
	TEST(a_gain_becomes_seconds_and_steps),
	TEST(without_an_interval_the_value_stands_alone),
	TEST(what_is_no_gain_predicts_nothing),
	TEST(an_interval_that_reaches_to_nothing_never_pays),
	TEST(it_holds_within_three_in_a_hundred_or_its_interval),
	TEST(a_class_is_distrusted_once_no_luck_could_make_it_good),
	TEST(windows_weigh_by_their_steps),
	TEST(nine_of_ten_predictions_come_within_three_in_a_hundred),
};

TEST_SUITE(tests);
