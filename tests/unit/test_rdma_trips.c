/* SPDX-License-Identifier: Apache-2.0 */
/* Sequential small requests over a simulated fabric: the latency of each. */
#include <errno.h>

#include "probes/rdma/flow_latency.h"
#include "tests/unit/flow_bench.h"
#include "tests/unit/test.h"

static void the_round_trip_is_measured(void)
{
	double seconds[100];
	struct flow_trips trips = { .warm = 5, .n = ARRAY_SIZE(seconds), .seconds = seconds };
	struct flow_result result;
	struct bench b;
	size_t i;

	bench_open(&b, 1, FLOW_SPIN);
	b.flow.size = 8;
	b.flow.depth = b.flow.batch = 1;
	CHECK_EQ(flow_latency(&b.flow, &trips, 1000000, &result, NULL), 0);
	CHECK_EQ(trips.made, ARRAY_SIZE(seconds));
	for (i = 0; i < trips.made; i++)
		CHECK_NEAR(seconds[i], 2e-6, 0.1e-6);
	CHECK_EQ(b.sim.most_outstanding, 1);
	bench_close(&b);
}

/* A flow of small writes whose data is looked for where it lands. */
static void look_where_it_lands(struct bench *b, bool moves)
{
	bench_open(b, 1, FLOW_SPIN);
	b->sim.moves = moves;
	b->flow.size = 8;
	b->flow.depth = b->flow.batch = 1;
	b->flow.remote = (uintptr_t)bench_memory + REGION / 2;
	b->flow.lands = (unsigned char *)bench_memory + REGION / 2 + 7;
	*b->flow.lands = 1; /* as left from before: no trip's end */
}

static void a_trip_ends_when_its_data_is_seen(void)
{
	double seconds[600];
	struct flow_trips trips = { .warm = 5, .n = ARRAY_SIZE(seconds), .seconds = seconds };
	struct flow_result result;
	struct bench b;
	size_t i;
	int watched;

	for (watched = 0; watched <= 1; watched++) {
		look_where_it_lands(&b, true);
		b.flow.watched = watched;
		CHECK_EQ(flow_latency(&b.flow, &trips, 1000000, &result, NULL), 0);
		CHECK_EQ(trips.made, ARRAY_SIZE(seconds));
		CHECK_EQ(result.completions, trips.warm + trips.n);
		/* Before the completion, which is 2 us away. */
		for (i = 0; i < trips.made; i++)
			CHECK(seconds[i] < 1e-6);
		CHECK_EQ(*b.flow.lands, (605 - 1) % 255 + 1);
		bench_close(&b);
	}
}

static void data_that_never_lands_ends_at_the_deadline(void)
{
	double seconds[10];
	struct flow_trips trips = { .n = ARRAY_SIZE(seconds), .seconds = seconds };
	struct flow_result result;
	struct bench b;

	look_where_it_lands(&b, false);
	b.sim.poll_s = 1e-3;
	CHECK_EQ(flow_latency(&b.flow, &trips, 1000, &result, NULL), -ETIME);
	CHECK_EQ(trips.made, 0);
	CHECK(result.left);
	bench_close(&b);
}

static void a_trip_whose_request_fails_says_so(void)
{
	double seconds[10];
	struct flow_trips trips = { .n = ARRAY_SIZE(seconds), .seconds = seconds };
	struct flow_result result;
	struct bench b;

	look_where_it_lands(&b, true);
	b.sim.fail_at = 4;
	b.sim.fail_status = RDMA_RETRY_EXCEEDED;
	CHECK_EQ(flow_latency(&b.flow, &trips, 1000000, &result, NULL), 0);
	CHECK_EQ(result.status, RDMA_RETRY_EXCEEDED);
	CHECK_EQ(trips.made, 3);
	bench_close(&b);
}

static const struct test tests[] = {
	TEST(the_round_trip_is_measured),
	TEST(a_trip_ends_when_its_data_is_seen),
	TEST(data_that_never_lands_ends_at_the_deadline),
	TEST(a_trip_whose_request_fails_says_so),
};

TEST_SUITE(tests);
