/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of GPUs compared with the host's and with each other, and timers that are too coarse. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_clock.h"
#include "tests/attribution/ring_world.h"
#include "tests/unit/test.h"

enum { SEEDS = 12, SEEDS_FULL = 300, RANKS_MAX = 64 };

static struct job job_of(int dp, int pp, uint64_t seed)
{
	return (struct job){ .seed = seed,
			     .last_stage = 1,
			     .noise = 0.02,
			     .link_d = -1,
			     .dp = dp,
			     .pp = pp,
			     .mb = 4,
			     .vpp = 1,
			     .tp = 1,
			     .steps = 40,
			     .forward_ns = 30 * MS,
			     .backward_ns = 60 * MS,
			     .transfer_ns = 0.5 * MS,
			     .together = true,
			     .slow_group = -1 };
}

struct clocks {
	struct ring_line lines[RANKS_MAX];
	bool known[RANKS_MAX];
	struct err err;
};

static int find(const struct ring_world *world, struct clocks *c)
{
	c->err = (struct err)ERR_INIT;
	return ring_clock_ranks(world->ranks, world->n_ranks, world->views[0].ops[0].gpu_start_ns,
				c->lines, c->known, &c->err);
}

/*
 * How far apart the clocks of two ranks are put that left the same norm together: the worst over
 * ranks and over the window, ns.
 */
static double worst_apart(const struct ring_world *world, const struct clocks *c)
{
	const uint64_t base = world->views[0].ops[0].gpu_start_ns;
	double worst = 0;
	size_t rank, i, j;

	for (rank = 1; rank < world->n_ranks; rank++) {
		const struct ring_rank *one = &world->ranks[0], *other = &world->ranks[rank];
		const struct ring_view *a = &one->rings[one->n - 1];
		const struct ring_view *b = &other->rings[other->n - 1];

		for (i = 0, j = 0; i < a->n && j < b->n; i++) {
			const double x = (double)(int64_t)(a->ops[i].gpu_stop_ns - base);
			double y;

			while (j < b->n && b->ops[j].seq < a->ops[i].seq)
				j++;
			if (j == b->n || b->ops[j].seq != a->ops[i].seq)
				continue;
			y = (double)(int64_t)(b->ops[j].gpu_stop_ns - base);
			worst = fmax(worst, fabs((x - ring_line_at(&c->lines[0], x)) -
						 (y - ring_line_at(&c->lines[rank], y))));
		}
	}
	return worst;
}

static void clocks_off_by_ms_that_drift_are_put_together(void)
{
	const struct ring_world_options o = { .offset_ns = 5 * MS,
					      .drift = 10e-6,
					      .resolution_ns = 1000,
					      .hop_ns = 3000,
					      .lost = 0.002 };
	const size_t seeds = test_times(SEEDS_FULL, SEEDS);
	double worst = 0;
	size_t seed;

	for (seed = 0; seed < seeds; seed++) {
		const struct job job = job_of(4, seed % 2 ? 4 : 1, 720001 + seed);
		CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
		struct clocks c;

		CHECK_EQ(find(world, &c), 0);
		CHECK_STR(c.err.msg, "");
		worst = fmax(worst, worst_apart(world, &c));
	}
	printf("clocks off by 5 ms and 10 ppm: at most %.1f us apart, over %zu jobs\n",
	       worst / 1000, seeds);
	/* Ends themselves scatter by 6 us, and a tick is one. */
	CHECK(worst < 15000);
}

static void replicas_are_tied_together_by_what_goes_both_ways(void)
{
	const struct ring_world_options o = { .offset_ns = 5 * MS, .resolution_ns = 1000 };
	const struct job job = job_of(1, 4, 730001);
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
	struct clocks c, all;
	size_t rank;

	CHECK_EQ(find(world, &all), 0);
	/* The first ring is that of the stages. */
	for (rank = 0; rank < world->n_ranks; rank++)
		world->ranks[rank].n = 1;
	CHECK_EQ(find(world, &c), 0);
	for (rank = 0; rank < world->n_ranks; rank++) {
		CHECK(c.known[rank]);
		CHECK_NEAR(c.lines[rank].at - c.lines[0].at, all.lines[rank].at - all.lines[0].at,
			   5000);
	}
	/* One direction says nothing. */
	for (rank = 0; rank < world->n_ranks; rank++) {
		struct ring_op *ops = world->ops[rank * RING_WORLD_RINGS];
		size_t i;

		for (i = 0; i < world->ranks[rank].rings[0].n; i++) {
			if ((ops[i].func == RING_SEND) != (ops[i].peer > (int)rank))
				ops[i].func = RING_OTHER;
		}
	}
	CHECK_EQ(find(world, &c), -ENODATA);
	CHECK_HAS(c.err.msg, "no two ranks have 32 collectives, or transfers both ways");
}

static void a_coarse_timer_is_refused(void)
{
	const struct ring_world_options o = { .resolution_ns = MS, .bad = 0.001 };
	const struct job job = job_of(4, 1, 3);
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
	struct clocks c;

	CHECK_EQ(ring_clock_resolution(world->ranks[0].rings, world->ranks[0].n), MS);
	CHECK_EQ(find(world, &c), -EDOM);
	CHECK_HAS(c.err.msg, "counts in steps of 1000 us: too coarse");
}

static void ends_that_scatter_are_refused(void)
{
	const struct ring_world_options o = { .hop_ns = 200000 };
	const struct job job = job_of(4, 1, 3);
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
	struct clocks c;

	CHECK_EQ(find(world, &c), -EDOM);
	CHECK_HAS(c.err.msg, "their clocks cannot be compared");
}

static void too_few_collectives_say_nothing(void)
{
	const struct ring_world_options o = { .offset_ns = MS };
	struct job job = job_of(4, 1, 3);
	CLEANUP(ring_world_freep) struct ring_world *world = NULL;
	struct clocks c;

	job.steps = 15;
	world = ring_world_new(&job, &o);
	CHECK_EQ(find(world, &c), -ENODATA);
	CHECK_HAS(c.err.msg, "no two ranks have 32 collectives");
}

static void the_host_hears_of_no_end_before_it(void)
{
	const struct ring_world_options o = { .offset_ns = 5 * MS,
					      .drift = 10e-6,
					      .resolution_ns = 1000 };
	const struct job job = job_of(4, 1, 5);
	CLEANUP(ring_world_freep) struct ring_world *world = ring_world_new(&job, &o);
	const struct ring_view *view = world->ranks[1].rings;
	const uint64_t base = view->ops[0].gpu_start_ns;
	struct ring_line ahead = { .n = 0 };
	struct err err = ERR_INIT;
	double early = 0, late = 0;
	size_t i;

	CHECK_EQ(ring_clock_host(view, world->ranks[1].n, base, view->comm->mono_ns, &ahead, &err),
		 0);
	for (i = 0; i < view->n; i++) {
		const double x = (double)(int64_t)(view->ops[i].gpu_stop_ns - base);
		const double heard =
			(double)(int64_t)(view->ops[i].host_stop_ns - view->comm->mono_ns);

		early = fmin(early, heard - (x + ring_line_at(&ahead, x)));
		late = fmax(late, heard - (x + ring_line_at(&ahead, x)));
	}
	printf("host hears of ends %.1f us before to %.1f us after them, by the line\n",
	       -early / 1000, late / 1000);
	CHECK(early > -40000);
	CHECK(late < 3e6);
}

static const struct test tests[] = {
	TEST(clocks_off_by_ms_that_drift_are_put_together),
	TEST(replicas_are_tied_together_by_what_goes_both_ways),
	TEST(a_coarse_timer_is_refused),
	TEST(ends_that_scatter_are_refused),
	TEST(too_few_collectives_say_nothing),
	TEST(the_host_hears_of_no_end_before_it),
};

TEST_SUITE(tests);
