/* SPDX-License-Identifier: Apache-2.0 */
/* The variation of good hosts, and how slow a host is compared with it. */
#include <math.h>
#include <stdlib.h>

#include "attribution/lottery.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

enum { DP_MAX = 16, PP_MAX = 4, WORKERS_MAX = DP_MAX * PP_MAX };

static const struct lottery_known usual = { LOTTERY_SPREAD, NULL },
				  half = { LOTTERY_SPREAD / 2, NULL };

/* A pace of forwards alone: times[d * pp + stage] s a step. */
struct paced {
	struct trace trace;
	struct pace pace;
	double mean[WORKERS_MAX * OPTYPE_N];
	uint32_t count[PP_MAX * OPTYPE_N];
	bool left_out[WORKERS_MAX];
};

static struct paced *paced_of(uint32_t dp, uint32_t pp, const double *times)
{
	struct paced *paced = xcalloc(1, sizeof(*paced));
	size_t i;

	paced->trace.job.dp = dp;
	paced->trace.job.pp = pp;
	paced->pace =
		(struct pace){ .trace = &paced->trace, .mean = paced->mean, .count = paced->count };
	for (i = 0; i < pp; i++)
		paced->count[i * OPTYPE_N + OP_FORWARD_COMPUTE] = 4;
	for (i = 0; i < (size_t)dp * pp; i++)
		paced->mean[i * OPTYPE_N + OP_FORWARD_COMPUTE] = times[i] / 4;
	return paced;
}

static void the_spread_of_many_is_their_own_and_of_few_that_of_silicon(void)
{
	static const struct {
		uint32_t dp;
		double wave; /* times are 1 - wave, 1, 1 + wave, 1, ... */
		double least, most;
	} rows[] = {
		{ 2, 0, 0.030, 0.034 },	    { 2, 0.2, 0.034, 0.037 },  { 16, 0, 0.010, 0.020 },
		{ 16, 0.05, 0.033, 0.036 }, { 16, 0.2, 0.045, 0.070 }, { 16, 0.01, 0.015, 0.025 },
	};
	size_t i, d;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		double times[DP_MAX];
		CLEANUP(freep) struct paced *paced = NULL;
		struct lottery lottery;

		for (d = 0; d < rows[i].dp; d++)
			times[d] = 1 + (d % 2 ? 0 : d % 4 ? rows[i].wave : -rows[i].wave);
		paced = paced_of(rows[i].dp, 1, times);
		lottery = lottery_of(&paced->pace, paced->left_out, &usual);
		CHECK(lottery.spread >= rows[i].least && lottery.spread <= rows[i].most);
		lottery_release(&lottery);
		/* Who knows that good hosts differ less is believed in part. */
		lottery = lottery_of(&paced->pace, paced->left_out, &half);
		CHECK(lottery.spread < rows[i].most);
		lottery_release(&lottery);
	}
}

/* Of two replicas one is all that is left of a stage, but other stages do the same. */
static void stages_that_are_alike_share_a_level(void)
{
	static const double times[] = { 1.00, 0.97, 1.02, 1.01, /* dp 0 */
					1.30, 1.03, 0.98, 0.99 };
	CLEANUP(freep) struct paced *paced = paced_of(2, 4, times);
	struct lottery lottery;

	paced->left_out[4] = true;
	lottery = lottery_of(&paced->pace, paced->left_out, &usual);
	CHECK_NEAR(lottery.level[0], 1, 1e-9);
	CHECK_NEAR(lottery_ratio(&lottery, 4), 1.3, 1e-9);
	CHECK_NEAR(lottery.most, 1.03, 1e-9);
	lottery_release(&lottery);
}

static void a_stage_that_does_more_has_a_level_of_its_own(void)
{
	static const double times[] = { 1.00, 1.01, 0.99, 1.60, 1.01, 1.00, 1.00, 1.62,
					0.99, 0.99, 1.01, 1.58, 1.00, 1.00, 1.00, 2.00 };
	CLEANUP(freep) struct paced *paced = paced_of(4, 4, times);
	struct lottery lottery;

	paced->left_out[15] = true;
	lottery = lottery_of(&paced->pace, paced->left_out, &usual);
	CHECK_NEAR(lottery.level[3], 1.6, 0.01);
	CHECK_NEAR(lottery.level[0], 1.0, 0.01);
	CHECK_NEAR(lottery_ratio(&lottery, 15), 1.25, 0.01);
	CHECK(lottery.most < 1.03);
	lottery_release(&lottery);
}

static void who_has_nobody_beside_it_is_as_slow_as_anybody(void)
{
	static const double times[] = { 1, 2, 0, 3 };
	CLEANUP(freep) struct paced *paced = paced_of(1, 4, times);
	struct lottery lottery;

	paced->left_out[1] = true;
	lottery = lottery_of(&paced->pace, paced->left_out, &usual);
	CHECK_NEAR(lottery_ratio(&lottery, 1), 1, 0); /* nobody is left on its stage */
	CHECK_NEAR(lottery_ratio(&lottery, 2), 1, 0); /* nothing is computed there */
	CHECK_NEAR(lottery.spread, LOTTERY_SPREAD, 1e-12);
	lottery_release(&lottery);
	memset(paced->left_out, true, sizeof(paced->left_out));
	lottery = lottery_of(&paced->pace, paced->left_out, &usual);
	CHECK_NEAR(lottery.most, 0, 0);
	lottery_release(&lottery);
}

/* Hosts that the lottery made slow are as slow as their tests say: the fleet's level is seen
 * through them. */
static void speeds_say_what_is_usual_where_the_neighbours_do_not(void)
{
	static const double times[] = { 1 / 0.9, 1 / 0.93, 1 / 1.0, 1 / 0.88, 1 / 0.94, 1 / 0.80 };
	static const double speeds[] = { 0.9, 0.93, 1.0, NAN, 0.94, 0.95 };
	const struct lottery_known known = { LOTTERY_SPREAD, speeds, 0.88 };
	CLEANUP(freep) struct paced *paced = paced_of(6, 1, times);
	struct lottery lottery;

	paced->left_out[5] = true;
	lottery = lottery_of(&paced->pace, paced->left_out, &known);
	CHECK(lottery.tested);
	CHECK_NEAR(lottery.level[0], 1, 1e-9);
	CHECK_NEAR(lottery_ratio(&lottery, 5), 1.25, 1e-9);
	CHECK_NEAR(lottery.most, 1 / 0.88, 1e-9);
	CHECK(lottery.error[0] > 0.001 && lottery.error[0] < 0.02);
	/* Beyond the slowest good GPU in two hundred, and beyond the next. */
	CHECK(lottery_least(&lottery, 5, LOTTERY_BEYOND, 1) > 1 / 0.88 * 1.05);
	CHECK(lottery_least(&lottery, 5, LOTTERY_BEYOND, 1) < 1.25);
	CHECK(lottery_least(&lottery, 5, LOTTERY_BEYOND, 2) >
	      lottery_least(&lottery, 5, LOTTERY_BEYOND, 1));
	lottery_release(&lottery);
	/* Without them it is not so far from its neighbours. */
	lottery = lottery_of(&paced->pace, paced->left_out, &usual);
	CHECK(!lottery.tested);
	CHECK(lottery_ratio(&lottery, 5) < lottery_least(&lottery, 5, LOTTERY_BEYOND, 1));
	lottery_release(&lottery);
}

static void speeds_that_do_not_explain_the_times_are_not_used(void)
{
	static const double times[] = { 1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.00, 1.30 };
	static const double wrong[] = { 0.90, 1.10, 1.02, 0.95, 0.88, 1.07, 0.97, 1.00 };
	static const double few[] = { 1.00, 0.99, 1.01, NAN, NAN, NAN, NAN, 1.00 };
	const double *const rows[] = { wrong, few };
	CLEANUP(freep) struct paced *paced = paced_of(8, 1, times);
	size_t i;

	paced->left_out[7] = true;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct lottery_known known = { LOTTERY_SPREAD, rows[i], 0.88 };
		struct lottery with = lottery_of(&paced->pace, paced->left_out, &known);
		struct lottery without = lottery_of(&paced->pace, paced->left_out, &usual);

		CHECK(!with.tested);
		CHECK_NEAR(with.level[0], without.level[0], 0);
		CHECK_NEAR(with.spread, without.spread, 0);
		CHECK_NEAR(lottery_least(&with, 7, LOTTERY_BEYOND, 1),
			   lottery_least(&without, 7, LOTTERY_BEYOND, 1), 0);
		lottery_release(&with);
		lottery_release(&without);
	}
}

/* Three hosts that the job finds alike to 0.1 %, and their tests to 1.5 %. */
static void speeds_of_few_are_used_while_they_differ_by_what_they_leave(void)
{
	static const double times[] = { 1.000, 1.001, 0.999, 1.20 };
	static const struct {
		double speeds[4];
		bool used;
	} rows[] = {
		{ { 1.000, 0.985, 1.015, 1.00 }, true },
		{ { 1.000, 0.985, NAN, 1.00 }, true },
		{ { 1.000, 0.93, 1.07, 1.00 }, false },
	};
	CLEANUP(freep) struct paced *paced = paced_of(4, 1, times);
	size_t i;

	paced->left_out[3] = true;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct lottery_known known = { LOTTERY_SPREAD, rows[i].speeds, 0.88 };
		struct lottery lottery = lottery_of(&paced->pace, paced->left_out, &known);

		CHECK_EQ(lottery.tested, rows[i].used);
		lottery_release(&lottery);
	}
}

/* Both say so, so less of either is in doubt; and who is that slow now need not have been so. */
static void times_and_tests_that_agree_say_more_than_times(void)
{
	static const double times[] = { 1, 1, 1.15 };
	static const struct {
		double speed;
		bool less;
	} rows[] = { { NAN, false }, { 1, false }, { 0.89, false }, { 0.865, true }, { 0.7, true } };
	CLEANUP(freep) struct paced *paced = paced_of(3, 1, times);
	double alone = 0;
	size_t i;

	paced->left_out[2] = true;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const double speeds[] = { 1, 1, rows[i].speed };
		const struct lottery_known known = { LOTTERY_SPREAD, speeds, 0.88 };
		struct lottery lottery = lottery_of(&paced->pace, paced->left_out, &known);
		double least = lottery_least(&lottery, 2, LOTTERY_BEYOND, 1);

		alone = i == 0 ? least : alone;
		CHECK(rows[i].less ? least < alone : least >= alone && least <= alone);
		/* However slow its tests find it, the job does too. */
		CHECK(least >= 1 / 0.88 - 1e-9);
		lottery_release(&lottery);
	}
}

static const struct test tests[] = {
	TEST(the_spread_of_many_is_their_own_and_of_few_that_of_silicon),
	TEST(stages_that_are_alike_share_a_level),
	TEST(a_stage_that_does_more_has_a_level_of_its_own),
	TEST(who_has_nobody_beside_it_is_as_slow_as_anybody),
	TEST(speeds_say_what_is_usual_where_the_neighbours_do_not),
	TEST(speeds_that_do_not_explain_the_times_are_not_used),
	TEST(speeds_of_few_are_used_while_they_differ_by_what_they_leave),
	TEST(times_and_tests_that_agree_say_more_than_times),
};

TEST_SUITE(tests);
