/* SPDX-License-Identifier: Apache-2.0 */
/* Concurrent flows over a simulated fabric: the rate of each, and when counting stops. */
#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/macro.h"
#include "probes/rdma/flow_many.h"
#include "tests/fakes/rdma_sim.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { SIZE = 64 * 1024, DEPTH = 128, BATCH = 16, REGION = 16 << 20, FLOWS_MAX = 4 };

static char memory[REGION];

struct bench {
	struct rdma_sim sim;
	struct rdma_device *device;
	struct rdma_region region;
	struct flow flows[FLOWS_MAX];
	struct flow_one ones[FLOWS_MAX];
	size_t n;
};

static void bench_open(struct bench *b, size_t n, int wait)
{
	const struct rdma_queue_options o = { .port = 1,
					      .depth = DEPTH,
					      .events = wait == FLOW_EVENTS };
	const struct rdma_ops *ops;
	size_t i;

	b->sim = rdma_sim_make();
	b->n = n;
	ops = b->sim.engine.ops;
	CHECK_EQ(ops->open(&b->sim.engine, "sim0", &b->device, NULL), 0);
	CHECK_EQ(ops->region_add(b->device, memory, REGION, &b->region, NULL), 0);
	for (i = 0; i < n; i++) {
		struct rdma_end end;

		b->flows[i] = (struct flow){ .engine = &b->sim.engine,
					     .n_queues = 1,
					     .local = b->region,
					     .opcode = RDMA_WRITE,
					     .size = SIZE,
					     .depth = DEPTH,
					     .batch = BATCH,
					     .wait = wait };
		b->ones[i] = (struct flow_one){ .flow = &b->flows[i] };
		CHECK_EQ(ops->queue_open(b->device, &o, &b->flows[i].queues[0], NULL), 0);
		ops->queue_end(b->flows[i].queues[0], &end);
		CHECK_EQ(ops->queue_connect(b->flows[i].queues[0], &end, NULL), 0);
	}
}

static void bench_close(struct bench *b)
{
	const struct rdma_ops *ops = b->sim.engine.ops;
	size_t i;

	for (i = 0; i < b->n; i++)
		ops->queue_close(b->flows[i].queues[0]);
	ops->region_remove(&b->region);
	ops->close(b->device);
	CHECK_EQ(b->sim.open_devices + b->sim.open_regions + b->sim.open_queues, 0);
}

static void run(struct bench *b)
{
	struct flow_time time = { .warm_us = 2000, .deadline_us = b->sim.now_ns / 1000 + 1000000 };

	flow_time_set_windows(&time, 200000);
	flow_run_many(b->ones, b->n, &time);
}

static void flows_share_what_there_is(void)
{
	static const int waits[] = { FLOW_SPIN, FLOW_EVENTS };
	struct bench b;
	size_t i, n, k;

	for (k = 0; k < ARRAY_SIZE(waits); k++) {
		for (n = 1; n <= FLOWS_MAX; n++) {
			bench_open(&b, n, waits[k]);
			run(&b);
			for (i = 0; i < n; i++) {
				const struct flow_result *r = &b.ones[i].result;

				CHECK_EQ(b.ones[i].error, 0);
				CHECK_EQ(r->status, RDMA_OK);
				CHECK_NEAR((double)r->bytes / r->seconds * (double)n / 50e9, 1,
					   0.01);
				CHECK_EQ(r->doorbells, r->completions);
			}
			bench_close(&b);
		}
	}
}

/* The look after asking for an event is the only one that may find nothing. */
static void flows_that_sleep_poll_for_nothing_no_more(void)
{
	struct bench b;
	size_t n;

	for (n = 1; n <= FLOWS_MAX; n++) {
		bench_open(&b, n, FLOW_EVENTS);
		run(&b);
		CHECK(b.sim.waits > 0);
		CHECK(b.sim.empty_polls <= b.sim.notifications);
		bench_close(&b);
	}
}

/* A link that never varies is known after the least number of windows. */
static void a_steady_flow_stops_early(void)
{
	struct bench b;

	bench_open(&b, 1, FLOW_SPIN);
	run(&b);
	CHECK_EQ(b.ones[0].result.n, FLOW_WINDOWS_MIN);
	CHECK_EQ(b.sim.signalled, b.sim.doorbells);
	bench_close(&b);
}

static void one_that_fails_ends_alone(void)
{
	struct bench b;
	size_t i, failed = 0, measured = 0;

	bench_open(&b, 3, FLOW_SPIN);
	b.sim.fail_at = 1000;
	b.sim.fail_status = RDMA_RETRY_EXCEEDED;
	run(&b);
	for (i = 0; i < b.n; i++) {
		CHECK_EQ(b.ones[i].error, 0);
		failed += b.ones[i].result.status == RDMA_RETRY_EXCEEDED;
		measured += b.ones[i].result.status == RDMA_OK &&
			    b.ones[i].result.n >= FLOW_WINDOWS_MIN;
	}
	CHECK_EQ(failed, 1);
	CHECK_EQ(measured, 2);
	bench_close(&b);
}

/* A second to measure, then FLOW_DRAIN_US for a failure to be told: for all of them together. */
static void silence_ends_at_the_deadline(void)
{
	struct bench b;
	size_t n;

	for (n = 1; n <= 2; n++) {
		bench_open(&b, n, FLOW_SPIN);
		b.sim.latency_s = 3600;
		b.sim.poll_s = 1e-5;
		run(&b);
		CHECK_EQ(b.ones[n - 1].error, -ETIME);
		CHECK_NEAR((double)b.sim.now_ns * 1e-9, 4, 0.1);
		CHECK(b.ones[n - 1].result.left);
		bench_close(&b);
	}
}

/* The rule in plain words, with values of which the answer is known. */
static void stable_is_half_a_percent_of_the_mean(void)
{
	double steady[FLOW_WINDOWS_MAX], torn[FLOW_WINDOWS_MAX];
	struct random chance = random_seeded(1);
	size_t i, n, covered = 0, stopped = 0, round;

	for (i = 0; i < FLOW_WINDOWS_MAX; i++) {
		steady[i] = 100;
		torn[i] = i % 2 ? 101 : 99;
	}
	CHECK(!flow_is_stable(steady, FLOW_WINDOWS_MIN - 1, FLOW_STABLE));
	CHECK(flow_is_stable(steady, FLOW_WINDOWS_MIN, FLOW_STABLE));
	/* s = 1.07 of n = 8: 2.365 x 1.07 / sqrt(8) = 0.89; s = 1.02 of n = 20: 0.48. */
	CHECK(!flow_is_stable(torn, 8, FLOW_STABLE));
	CHECK(!flow_is_stable(torn, 18, FLOW_STABLE));
	CHECK(flow_is_stable(torn, 20, FLOW_STABLE));
	/* What it says is known is known: by normal noise in 95 of 100. */
	for (round = 0; round < 2000; round++) {
		double sum = 0;

		for (i = 0; i < FLOW_WINDOWS_MAX; i++)
			steady[i] = random_normal(&chance, 100, 1);
		for (n = FLOW_WINDOWS_MIN; n < FLOW_WINDOWS_MAX; n++) {
			if (flow_is_stable(steady, n, FLOW_STABLE))
				break;
		}
		for (i = 0; i < n; i++)
			sum += steady[i];
		stopped += n < FLOW_WINDOWS_MAX;
		covered += fabs(sum / (double)n - 100) <= 0.5;
	}
	CHECK(stopped > 1900);
	CHECK(covered > 1800);
}

static const struct test tests[] = {
	TEST(flows_share_what_there_is),    TEST(flows_that_sleep_poll_for_nothing_no_more),
	TEST(a_steady_flow_stops_early),    TEST(one_that_fails_ends_alone),
	TEST(silence_ends_at_the_deadline), TEST(stable_is_half_a_percent_of_the_mean),
};

TEST_SUITE(tests);
