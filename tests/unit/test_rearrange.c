/* SPDX-License-Identifier: Apache-2.0 */
/* Unequal layers divided into stages, and whole jobs rearranged around slow hosts. */
#include <errno.h>
#include <math.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/layers_cut.h"
#include "lib/remedy/rearrange.h"
#include "tests/unit/test.h"

enum { LAYERS = 8, STAGES = 4 };

static uint64_t seed = 11;

static double between(double least, double most)
{
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return least + (most - least) * (double)(seed >> 40) / (1 << 24);
}

/* All cuts, by the bits of where stages end. */
static double best_of_all(const struct layers_cut_wish *wish)
{
	size_t bits, i;
	double best = INFINITY;

	for (bits = 0; bits < (size_t)1 << (wish->layers - 1); bits++) {
		size_t counts[LAYERS] = { 0 }, p = 0;

		for (i = 0; i < wish->layers; i++) {
			counts[p]++;
			p += bits >> i & 1;
		}
		if (p + 1 == wish->stages && layers_cut_fits(wish, counts))
			best = MIN(best, layers_cut_slowest(wish, counts));
	}
	return best;
}

static void cuts_are_as_good_as_any(void)
{
	double seconds[LAYERS], bytes[LAYERS], slowdown[LAYERS];
	size_t counts[LAYERS], round, i, found = 0;

	for (round = 0; round < test_times(20000, 3000); round++) {
		struct layers_cut_wish wish = { seconds,
						bytes,
						slowdown,
						1 + round % LAYERS,
						1 + round / LAYERS % LAYERS,
						between(4, 20),
						between(0, 3) };
		double best;
		int r;

		for (i = 0; i < LAYERS; i++) {
			seconds[i] = between(1, 3);
			bytes[i] = between(1, 3);
			slowdown[i] = between(1, 2);
		}
		if (wish.stages > wish.layers)
			continue;
		best = best_of_all(&wish);
		r = layers_cut(&wish, counts, NULL);
		CHECK_EQ(r, isinf(best) ? -ERANGE : 0);
		if (r < 0)
			continue;
		found++;
		CHECK(layers_cut_fits(&wish, counts));
		CHECK_NEAR(layers_cut_slowest(&wish, counts), best, 1e-9);
	}
	CHECK(found > 100);
}

/* 1, 2 and 1 layers or 1, 1 and 2: the slowest stage takes 4, all together 8 or 9. */
static void of_equal_cuts_the_shorter_is_taken(void)
{
	const double seconds[] = { 4, 1, 1, 1 }, slowdown[] = { 1, 1, 2 };
	const struct layers_cut_wish wish = { seconds, NULL, slowdown, 4, 3, 0, 0 };
	size_t counts[3];

	CHECK_EQ(layers_cut(&wish, counts, NULL), 0);
	CHECK_EQ(counts[0], 1);
	CHECK_EQ(counts[1], 2);
	CHECK_EQ(counts[2], 1);
}

static void cuts_that_cannot_be_had_say_why(void)
{
	const double ones[] = { 1, 1, 1, 1 };
	struct layers_cut_wish wish = { ones, ones, NULL, 4, 2, 1.5, 0 };
	struct err err = ERR_INIT;
	size_t counts[4] = { 7 };

	CHECK_EQ(layers_cut(&wish, counts, &err), -ERANGE);
	CHECK_STR(err.msg, "4 layers need 4 bytes, 1 more than the 3 of 2 stages");
	wish.room = 2.5;
	wish.ends = 0.6; /* 1.9 each */
	CHECK_EQ(layers_cut(&wish, counts, &err), -ERANGE);
	wish.room = 2.6;
	CHECK_EQ(layers_cut(&wish, counts, &err), 0);
	counts[0] = 7;
	wish.stages = 5;
	CHECK_EQ(layers_cut(&wish, counts, &err), -ERANGE);
	CHECK_STR(err.msg, "4 layers are 1 fewer than 5 stages");
	wish.stages = 0;
	CHECK_EQ(layers_cut(&wish, counts, &err), -EINVAL);
	CHECK_EQ(counts[0], 7);
}

/* The worked example of four replicas, four stages of eight layers, one worker 1.6 times slower. */
static void the_worked_example_holds(void)
{
	double forward[32], backward[32], slowdown[16];
	const size_t split[] = { 8, 8, 8, 8 };
	struct rearrange_job job = { .dp = 4,
				     .pp = 4,
				     .microbatches = 16,
				     .layers = 32,
				     .forward = forward,
				     .backward = backward,
				     .split = split,
				     .slowdown = slowdown };
	static const double times[] = { [REARRANGE_MICROBATCHES] = 2.52,
					[REARRANGE_LAYERS] = 2.55,
					[REARRANGE_BOTH] = 2.4,
					[REARRANGE_TOGETHER] = 2.4 };
	struct rearrange_bounds bounds = { 0 };
	size_t i;

	for (i = 0; i < 32; i++) {
		forward[i] = 0.04 / 8;
		backward[i] = 0.08 / 8;
	}
	for (i = 0; i < 16; i++)
		slowdown[i] = i == 6 ? 1.6 : 1;
	CHECK_EQ(rearrange_now(&job, &bounds, NULL), 0);
	CHECK_NEAR(bounds.now, 3.368, 1e-9);
	CHECK_NEAR(bounds.bound, 0.48 * 64 / 15.625, 1e-9);
	for (i = 0; i < REARRANGE_WAYS; i++) {
		struct rearrange_plan plan = { 0 };

		CHECK_EQ(rearrange_plan(&job, (enum rearrange_way)i, &plan, NULL), 0);
		CHECK_NEAR(plan.time, times[i], 1e-9);
		CHECK(plan.better && plan.time >= bounds.bound);
		if (i == REARRANGE_MICROBATCHES)
			CHECK_EQ(plan.microbatches[1], 10);
		if (i == REARRANGE_LAYERS)
			CHECK_EQ(plan.split[6], 5);
		if (i == REARRANGE_BOTH)
			CHECK_EQ(plan.microbatches[1], 13);
		rearrange_plan_release(&plan);
	}
}

/* Two slow hosts of one stage in two pipelines: they cannot stand together; of two stages they can. */
static void slow_hosts_stand_together(void)
{
	const double one[] = { 1, 1, 1, 1 };
	double slowdown[] = { 2, 1, 1, 2, 1, 1 };
	const size_t split[] = { 2, 2 };
	const struct rearrange_job job = { .dp = 3,
					   .pp = 2,
					   .microbatches = 8,
					   .layers = 4,
					   .forward = one,
					   .backward = one,
					   .split = split,
					   .slowdown = slowdown };
	struct rearrange_plan both = { 0 }, together = { 0 };

	CHECK_EQ(rearrange_plan(&job, REARRANGE_BOTH, &both, NULL), 0);
	CHECK_EQ(rearrange_plan(&job, REARRANGE_TOGETHER, &together, NULL), 0);
	CHECK_EQ(together.hosts[0], 0);
	CHECK_EQ(together.hosts[1], 3);
	CHECK(together.time < both.time);
	rearrange_plan_release(&both);
	rearrange_plan_release(&together);
}

/* A stage that has layers 2 and 3 gets 1: a third of what it holds then. */
static void hosts_get_what_they_do_not_have(void)
{
	const double one[] = { 1, 1, 1, 1 }, bytes[] = { 5, 7, 11, 13 };
	const size_t split[] = { 2, 2 };
	size_t microbatches[] = { 4 }, then[] = { 1, 3 }, hosts[] = { 0, 1 };
	const struct rearrange_job job = { .dp = 1,
					   .pp = 2,
					   .microbatches = 4,
					   .layers = 4,
					   .forward = one,
					   .backward = one,
					   .bytes = bytes,
					   .room = 100,
					   .split = split,
					   .slowdown = one };
	struct rearrange_plan plan = { .microbatches = microbatches, .split = then, .hosts = hosts };

	CHECK_NEAR(rearrange_bytes(&job, &plan), 7, 1e-12);
	hosts[0] = 1;
	hosts[1] = 0;
	CHECK_NEAR(rearrange_bytes(&job, &plan), 24, 1e-12);
}

static void nothing_is_worse_than_now(void)
{
	double forward[LAYERS], backward[LAYERS], bytes[LAYERS], slowdown[3 * STAGES];
	size_t round, i, better = 0;

	for (round = 0; round < test_times(3000, 300); round++) {
		size_t split[STAGES] = { 2, 2, 2, 2 };
		const struct rearrange_job job = { .dp = 1 + round % 3,
						   .pp = STAGES,
						   .microbatches = 1 + round % 9,
						   .layers = LAYERS,
						   .forward = forward,
						   .backward = backward,
						   .bytes = bytes,
						   .room = 9,
						   .split = split,
						   .slowdown = slowdown };
		struct rearrange_bounds bounds = { 0 };

		for (i = 0; i < LAYERS; i++) {
			forward[i] = between(1, 2);
			backward[i] = between(2, 4);
			bytes[i] = between(1, 4);
		}
		for (i = 0; i < 3 * STAGES; i++)
			slowdown[i] = between(0.9, 1.6);
		CHECK_EQ(rearrange_now(&job, &bounds, NULL), 0);
		for (i = 0; i < REARRANGE_WAYS; i++) {
			struct rearrange_plan plan = { 0 };
			size_t d, given = 0;

			CHECK_EQ(rearrange_plan(&job, (enum rearrange_way)i, &plan, NULL), 0);
			CHECK(plan.time <= bounds.now && plan.time >= bounds.bound * (1 - 1e-9));
			CHECK_EQ(plan.better, plan.time < bounds.now * (1 - 1e-9));
			for (d = 0; d < job.dp; d++)
				given += plan.microbatches[d];
			CHECK_EQ(given, job.dp * job.microbatches);
			better += plan.better;
			rearrange_plan_release(&plan);
		}
	}
	CHECK(better > round);
}

static void jobs_that_cannot_be_are_refused(void)
{
	const double one[] = { 1, 1 }, bytes[] = { 1, 3 };
	size_t split[] = { 1, 1 };
	struct rearrange_job job = { .dp = 1,
				     .pp = 2,
				     .microbatches = 4,
				     .layers = 2,
				     .forward = one,
				     .backward = one,
				     .bytes = bytes,
				     .room = 2,
				     .split = split,
				     .slowdown = one };
	struct rearrange_bounds bounds = { 7, 7 };
	struct err err = ERR_INIT;

	CHECK_EQ(rearrange_now(&job, &bounds, &err), -ERANGE);
	CHECK_STR(err.msg, "stage 1 needs 3 bytes now, 1 more than the 2 that it has");
	split[1] = 2;
	CHECK_EQ(rearrange_now(&job, &bounds, &err), -EINVAL);
	CHECK_STR(err.msg, "the stages have 3 layers, but the model has 2");
	job.microbatches = 1 << 20;
	CHECK_EQ(rearrange_now(&job, &bounds, &err), -EINVAL);
	CHECK_NEAR(bounds.now, 7, 0);
}

static const struct test tests[] = {
	TEST(cuts_are_as_good_as_any),	       TEST(of_equal_cuts_the_shorter_is_taken),
	TEST(cuts_that_cannot_be_had_say_why), TEST(the_worked_example_holds),
	TEST(slow_hosts_stand_together),       TEST(hosts_get_what_they_do_not_have),
	TEST(nothing_is_worse_than_now),       TEST(jobs_that_cannot_be_are_refused),
};

TEST_SUITE(tests);
