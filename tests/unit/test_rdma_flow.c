/* SPDX-License-Identifier: Apache-2.0 */
/* Flows over a simulated fabric: their results, and their calls to a device. */
#include <errno.h>
#include <sched.h>

#include "lib/base/err.h"
#include "probes/rdma/flow_latency.h"
#include "probes/rdma/flow_sink.h"
#include "tests/unit/flow_bench.h"
#include "tests/unit/test.h"

static void the_rate_of_the_link_is_measured(void)
{
	static const struct {
		size_t queues;
		int wait;
		double bytes_per_s;
	} cases[] = {
		{ 1, FLOW_SPIN, 50e9 },	  { 4, FLOW_SPIN, 50e9 },     { 1, FLOW_EVENTS, 50e9 },
		{ 4, FLOW_EVENTS, 50e9 }, { 1, FLOW_EVENTS, 0.06e9 }, { 1, FLOW_SPIN, 12.5e9 },
	};
	struct flow_result result;
	struct bench b;
	size_t i, w;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bench_open(&b, cases[i].queues, cases[i].wait);
		b.sim.bytes_per_s = cases[i].bytes_per_s;
		CHECK_EQ(bench_run(&b, &result), 0);
		CHECK_EQ(result.status, RDMA_OK);
		CHECK_EQ(result.n, WINDOWS);
		for (w = 0; w < result.n; w++)
			CHECK_NEAR(result.windows[w] / cases[i].bytes_per_s, 1, 0.01);
		CHECK_EQ(b.sim.most_outstanding, DEPTH);
		bench_close(&b);
	}
}

static int most_cores;
static int (*post_before)(struct rdma_queue *q, const struct rdma_work *work, size_t n,
			  struct err *err);

static int cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

static int note_cores(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err)
{
	most_cores = MAX(most_cores, cores());
	return post_before(q, work, n, err);
}

/* Wherever it may run: on a host with one core this shows only that nothing is lost. */
static void a_flow_that_stays_keeps_to_one_core_until_its_end(void)
{
	const int before = cores();
	double seconds[10];
	struct flow_trips trips = { .n = ARRAY_SIZE(seconds), .seconds = seconds };
	struct flow_result result;
	struct rdma_ops ops;
	struct bench b;
	int i;

	for (i = 0; i < 4; i++) {
		bool stays = i % 2, latency = i / 2;

		bench_open(&b, 1, FLOW_SPIN);
		ops = *b.sim.engine.ops;
		post_before = ops.post;
		ops.post = note_cores;
		b.sim.engine.ops = &ops;
		b.flow.stays = stays;
		most_cores = 0;
		if (latency)
			b.flow.depth = b.flow.batch = 1;
		CHECK_EQ(latency ? flow_latency(&b.flow, &trips, PATIENCE_US, &result, NULL)
				 : bench_run(&b, &result),
			 0);
		CHECK_EQ(most_cores, stays ? 1 : before);
		CHECK_EQ(cores(), before);
		bench_close(&b);
	}
}

/* At 64 KiB: at least 8 requests a doorbell, one completion a doorbell. */
static void doorbells_and_completions_are_few(void)
{
	struct flow_result result;
	struct bench b;

	bench_open(&b, 1, FLOW_SPIN);
	CHECK_EQ(bench_run(&b, &result), 0);
	CHECK(b.sim.requests >= 8 * b.sim.doorbells);
	CHECK_EQ(b.sim.signalled, b.sim.doorbells);
	CHECK_EQ(result.completions, b.sim.signalled);
	CHECK_EQ(result.doorbells, b.sim.doorbells);
	bench_close(&b);
}

/* The look after asking for an event is the only one that may find nothing. */
static void in_event_mode_nobody_polls_for_nothing(void)
{
	static const size_t queues[] = { 1, 2, 4, FLOW_QUEUES_MAX };
	struct flow_result result;
	struct bench b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		bench_open(&b, queues[i], FLOW_EVENTS);
		CHECK_EQ(bench_run(&b, &result), 0);
		CHECK(b.sim.waits > 0);
		CHECK(b.sim.empty_polls <= b.sim.notifications);
		CHECK_EQ(b.sim.empty_polls, result.empty_polls);
		bench_close(&b);
	}
}

/* Every queue gets its share, though all their completions come in one place. */
static void queues_that_share_completions_are_all_kept_full(void)
{
	struct flow_result result;
	struct bench b;
	int wait;

	for (wait = FLOW_SPIN; wait <= FLOW_EVENTS; wait++) {
		bench_open(&b, 4, wait);
		b.sim.latency_s = 100e-6; /* more than one queue holds: 128 x 64 KiB at 50 GB/s */
		b.flow.depth = DEPTH / 4;
		CHECK_EQ(bench_run(&b, &result), 0);
		/* 4 x 32 x 64 KiB in 42 us of each queue and 100 us on the way. */
		CHECK_NEAR(result.windows[WINDOWS / 2] / 50e9, 1, 0.05);
		CHECK_EQ(result.requests, b.sim.requests);
		bench_close(&b);
	}
}

/* 16 windows of 1 ms were asked for, and there is time for 9, a tenth kept: no more is used. */
static void the_deadline_ends_what_goes_well_too(void)
{
	struct flow_result result;
	struct bench b;
	int wait;

	for (wait = FLOW_SPIN; wait <= FLOW_EVENTS; wait++) {
		bench_open(&b, 2, wait);
		CHECK_EQ(bench_run_within(&b, 12800, &result), 0);
		CHECK_EQ(result.n, 9);
		CHECK(b.sim.now_ns < 12000000);
		CHECK_NEAR((double)result.bytes / result.seconds / 50e9, 1, 0.01);
		bench_close(&b);
	}
}

static void a_request_that_fails_ends_the_flow(void)
{
	static const int statuses[] = { RDMA_RETRY_EXCEEDED, RDMA_REMOTE_ACCESS, RDMA_LOCAL_ERROR };
	static const uint64_t moments[] = { 1, 17, 1000, 5000 };
	struct flow_result result;
	struct bench b;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		for (j = 0; j < ARRAY_SIZE(moments); j++) {
			bench_open(&b, 2, j % 2 ? FLOW_EVENTS : FLOW_SPIN);
			b.sim.fail_at = moments[j];
			b.sim.fail_status = statuses[i];
			CHECK_EQ(bench_run(&b, &result), 0);
			CHECK_EQ(result.status, statuses[i]);
			CHECK_EQ(result.failed.raw, (unsigned)statuses[i]);
			CHECK(result.left);
			CHECK(result.answered || moments[j] <= 17);
			bench_close(&b);
		}
	}
}

/* Nothing ever comes back: a second to measure, then FLOW_DRAIN_US for a failure to be told. */
static void a_silent_link_ends_at_the_deadline(void)
{
	struct flow_result result;
	struct bench b;
	int wait;

	for (wait = FLOW_SPIN; wait <= FLOW_EVENTS; wait++) {
		bench_open(&b, 1, wait);
		b.sim.latency_s = 3600;
		b.sim.poll_s = 1e-5;
		CHECK_EQ(bench_run(&b, &result), -ETIME);
		CHECK(result.left);
		CHECK_NEAR((double)b.sim.now_ns * 1e-9, 4, 0.1);
		bench_close(&b);
	}
}

/* Sends from the bench's queues to as many others, which take them in. */
struct sends {
	struct bench bench;
	struct flow other; /* its queues */
	struct flow_sink sink;
};

static void sends_open(struct sends *s, size_t queues, int wait, unsigned receives)
{
	const struct rdma_queue_options o = { .port = 1, .depth = DEPTH, .receives = receives };
	const struct rdma_ops *ops;
	size_t i;

	bench_open(&s->bench, queues, wait);
	ops = s->bench.sim.engine.ops;
	s->bench.sim.moves = true;
	s->other = (struct flow){ .engine = &s->bench.sim.engine };
	CHECK_EQ(flow_open(&s->other, s->bench.device, &o, queues, NULL), 0);
	for (i = 0; i < queues; i++) {
		struct rdma_end end;

		ops->queue_end(s->other.queues[i], &end);
		CHECK_EQ(ops->queue_connect(s->bench.flow.queues[i], &end, NULL), 0);
	}
	s->sink = (struct flow_sink){ .engine = &s->bench.sim.engine,
				      .queues = s->other.queues,
				      .n_queues = queues,
				      .target = s->bench.flow.local,
				      .size = SIZE,
				      .depth = receives };
	/* From the first half of the memory to the second. */
	s->bench.flow.local.bytes = s->sink.target.bytes = REGION / 2;
	s->sink.target.at = bench_memory + REGION / 2;
	s->bench.flow.opcode = RDMA_SEND;
	s->bench.flow.sink = &s->sink;
}

static void sends_close(struct sends *s)
{
	flow_close(&s->other);
	bench_close(&s->bench);
}

static void sends_are_taken_in_as_fast_as_they_come(void)
{
	static const size_t queues[] = { 1, 4 };
	struct flow_result result;
	struct sends s;
	size_t i;
	int wait;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		for (wait = FLOW_SPIN; wait <= FLOW_EVENTS; wait++) {
			memset(bench_memory, 1 + wait, REGION / 2);
			sends_open(&s, queues[i], wait, SINK_SPARE * DEPTH);
			CHECK_EQ(bench_run(&s.bench, &result), 0);
			CHECK_EQ(result.status, RDMA_OK);
			CHECK_NEAR(result.windows[WINDOWS / 2] / 50e9, 1, 0.01);
			/* What was drained at the end was not waited for. */
			CHECK(s.sink.received + queues[i] * DEPTH >= result.requests);
			CHECK(s.sink.received >= 8 * s.bench.sim.receive_doorbells);
			CHECK_EQ(bench_memory[REGION / 2], 1 + wait);
			CHECK_EQ(bench_memory[REGION - 1], 1 + wait);
			sends_close(&s);
		}
	}
}

static void a_send_that_finds_no_room_is_told(void)
{
	struct flow_result result;
	struct sends s;

	sends_open(&s, 1, FLOW_SPIN, DEPTH / 2);
	CHECK_EQ(bench_run(&s.bench, &result), 0);
	CHECK_EQ(result.status, RDMA_RNR_EXCEEDED);
	sends_close(&s);
}

static const struct test tests[] = {
	TEST(the_rate_of_the_link_is_measured),
	TEST(a_flow_that_stays_keeps_to_one_core_until_its_end),
	TEST(doorbells_and_completions_are_few),
	TEST(in_event_mode_nobody_polls_for_nothing),
	TEST(queues_that_share_completions_are_all_kept_full),
	TEST(the_deadline_ends_what_goes_well_too),
	TEST(a_request_that_fails_ends_the_flow),
	TEST(a_silent_link_ends_at_the_deadline),
	TEST(sends_are_taken_in_as_fast_as_they_come),
	TEST(a_send_that_finds_no_room_is_told),
};

TEST_SUITE(tests);
