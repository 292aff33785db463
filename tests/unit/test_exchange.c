/* SPDX-License-Identifier: Apache-2.0 */
/* All-to-all on a simulated fabric: data, rates, and the blame for a failure. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "probes/coll/coll_data.h"
#include "probes/coll/verbs_exchange.h"
#include "tests/unit/pair_fabric.h"
#include "tests/unit/test.h"

enum { SIDES = PAIR_FABRIC_MAX, SEED = 7, DEPTH = 16, PATHS = SIDES * SIDES };

#define LINK_RATE 1e9
#define SIZE (768 * 1024) /* divides by 4 x 2, 3, 4, 6 and 8 */

/* Link i goes out of port i, link SIDES + i into it. */
static struct bench {
	struct pair_fabric fabric;
	struct sim_path paths[PATHS];
	struct coll *group, *rest; /* of all ranks, or of the first ones and of the rest */
	struct coll_ops ops;
	const struct coll_ops *real;
	unsigned n;
	bool absent; /* the rest does not get on */
} bench;

static void lay_path(unsigned from, unsigned to, struct sim_path *p)
{
	const struct pair_side *side = &bench.fabric.sides[from];

	*p = (struct sim_path){ .port = 1,
				.at = side->source.at,
				.bytes = side->source.bytes,
				.links = { from, SIDES + to },
				.n_links = 2,
				.factor = 1 };
	memcpy(p->device, side->port->device, RDMA_NAME_SIZE);
	memcpy(p->to, bench.fabric.sides[to].port->device, RDMA_NAME_SIZE);
}

static void lay_links(void)
{
	struct rdma_sim *sim = &bench.fabric.sim;
	unsigned i, j;

	for (i = 0; i < 2 * SIDES; i++)
		sim->links[i] = (struct sim_link){ .bytes_per_s = LINK_RATE };
	for (i = 0; i < bench.n; i++) {
		for (j = 0; j < bench.n; j++) {
			if (i != j)
				lay_path(i, j, &bench.paths[sim->n_paths++]);
		}
	}
	sim->n_links = (size_t)2 * SIDES;
	sim->paths = bench.paths;
}

static void open_fabric(unsigned n)
{
	bench = (struct bench){ .n = n };
	pair_fabric_open(&bench.fabric, n);
	pair_fabric_keep_core();
	bench.fabric.sim.moves = true;
	bench.fabric.sim.poll_s = 100e-9;
	lay_links();
}

static void open_all(unsigned n)
{
	const struct coll_exchange_want want = { .n = n, .n_here = n, .depth = DEPTH };
	struct err err = ERR_INIT;

	open_fabric(n);
	CHECK_EQ(coll_exchange_open(bench.fabric.sides, &want, &bench.group, &err), 0);
	CHECK_STR(err.msg, "");
}

static void close_all(void)
{
	bench.group->ops->close(bench.group);
	if (bench.rest)
		bench.rest->ops->close(bench.rest);
	CHECK_EQ(bench.fabric.sim.lost, 0);
	pair_fabric_close(&bench.fabric);
}

static uint64_t soon_us(uint64_t us)
{
	return bench.fabric.sim.now_ns / 1000 + us;
}

static void run(uint64_t bytes, uint64_t us)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	struct err err = ERR_INIT;

	CHECK_EQ(coll_run(bench.group, &op, soon_us(us), NULL, &err), 0);
	CHECK_STR(err.msg, "");
}

static struct coll_wrong check_data(struct coll *c, uint64_t bytes)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	struct coll_wrong wrong = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(coll_check(c, &op, SEED, &wrong, &err), 0);
	CHECK_STR(err.msg, "");
	return wrong;
}

static void fill(struct coll *c, uint64_t bytes)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	struct err err = ERR_INIT;

	CHECK_EQ(coll_fill(c, &op, SEED, &err), 0);
	if (c->ops->whole)
		CHECK_EQ(c->ops->whole->blot(c, bytes, &err), 0);
}

static void every_rank_gets_the_block_of_every_other(void)
{
	unsigned n, times;

	for (n = 2; n <= SIDES; n++) {
		/* One element a block, one that is no multiple of a piece, nearly all. */
		const uint64_t sizes[] = { 4 * n, 4 * n * 10007, SIZE / (4 * n) * (4 * n) };
		size_t i;

		open_all(n);
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			for (times = 1; times <= 3; times += 2) {
				fill(bench.group, sizes[i]);
				coll_repeat(bench.group, times);
				CHECK(check_data(bench.group, sizes[i]).count > 0);
				run(sizes[i], USEC_PER_SEC);
				CHECK_EQ(bench.group->result.state, COLL_DONE);
				CHECK_EQ(check_data(bench.group, sizes[i]).count, 0);
			}
		}
		close_all();
	}
}

static void a_flipped_bit_names_who_sent_it(void)
{
	const uint64_t at = SIZE / 4 / 4 * 2 + 5; /* in the block of rank 2 */
	struct coll_wrong wrong;

	open_all(4);
	fill(bench.group, SIZE);
	run(SIZE, USEC_PER_SEC);
	((uint32_t *)bench.fabric.sides[1].target.at)[at] ^= 1;
	wrong = check_data(bench.group, SIZE);
	CHECK_EQ(wrong.count, 1);
	CHECK_EQ(wrong.rank, 1);
	CHECK_EQ(wrong.from, 2);
	CHECK_EQ(wrong.at, at);
	close_all();
}

static double busbw(uint64_t bytes)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	double most = 0;
	unsigned i;

	for (i = 0; i < bench.n; i++)
		most = MAX(most, bench.group->ops->whole->seconds(bench.group, i));
	return coll_busbw(&op, bench.n, most);
}

static void bus_bandwidth_is_that_of_the_links(void)
{
	unsigned n;

	for (n = 2; n <= SIDES; n++) {
		const uint64_t bytes = SIZE / (4 * n) * (4 * n);

		open_all(n);
		run(bytes, USEC_PER_SEC);
		CHECK_NEAR(busbw(bytes), LINK_RATE, 0.05 * LINK_RATE);
		coll_repeat(bench.group, 4);
		run(bytes, USEC_PER_SEC);
		CHECK_NEAR(busbw(bytes), LINK_RATE, 0.05 * LINK_RATE);
		/* A slow link out of one, or into one, is as slow for all. */
		bench.fabric.sim.links[1].bytes_per_s = LINK_RATE / 2;
		run(bytes, USEC_PER_SEC);
		CHECK_NEAR(busbw(bytes), LINK_RATE / 2, 0.05 * LINK_RATE);
		bench.fabric.sim.links[1].bytes_per_s = LINK_RATE;
		bench.fabric.sim.links[SIDES].bytes_per_s = LINK_RATE / 2;
		run(bytes, USEC_PER_SEC);
		CHECK_NEAR(busbw(bytes), LINK_RATE / 2, 0.05 * LINK_RATE);
		close_all();
	}
}

static void moves_alone_go_as_fast_as_their_own_links(void)
{
	const struct coll_move moves[] = { { 0, 1 }, { 2, 3 } };
	const double block = SIZE / 4;
	const struct coll_whole_ops *whole;
	unsigned i;

	open_all(4);
	whole = bench.group->ops->whole;
	bench.fabric.sim.links[2].bytes_per_s = LINK_RATE / 2;
	fill(bench.group, SIZE);
	coll_only(bench.group, moves, 2);
	run(SIZE, USEC_PER_SEC);
	CHECK_EQ(bench.group->result.state, COLL_DONE);
	for (i = 0; i < 2; i++) {
		CHECK_NEAR(block / whole->seconds(bench.group, i), LINK_RATE, 0.05 * LINK_RATE);
		CHECK_NEAR(block / whole->seconds(bench.group, 2 + i), LINK_RATE / 2,
			   0.05 * LINK_RATE);
	}
	/* Of 4 x 3 blocks that travel, 2 did. */
	CHECK_EQ(check_data(bench.group, SIZE).count, 10 * (uint64_t)block / 4);
	coll_only(bench.group, moves, 1);
	run(SIZE, USEC_PER_SEC);
	CHECK(isnan(whole->seconds(bench.group, 2)));
	coll_only(bench.group, NULL, 0);
	run(SIZE, USEC_PER_SEC);
	CHECK_EQ(check_data(bench.group, SIZE).count, 0);
	close_all();
}

static struct dead {
	const struct rdma_ops *real;
	const char *device, *only_to;
} dead;

/* Requests to and from a port that is dead are tried in vain. */
static int dead_port_poll(struct rdma_queue *q, struct rdma_done *ret, size_t max, struct err *err)
{
	int n = dead.real->poll(q, ret, max, err), i;

	for (i = 0; i < n; i++) {
		const char *from = rdma_sim_from(q), *to = rdma_sim_to(q);
		const bool hit = dead.only_to ? streq(from, dead.device) && streq(to, dead.only_to)
					      : streq(from, dead.device) || streq(to, dead.device);

		if (hit)
			ret[i].status = RDMA_RETRY_EXCEEDED;
	}
	return n;
}

static void a_port_that_is_dead_is_named_and_one_way_is_that_alone(void)
{
	static const struct {
		const char *only_to;
		int suspect;
		const char *words;
	} cases[] = {
		{ NULL, 2, "; all of it from or to sim2:1" },
		{ "sim0", COLL_NOBODY, "what goes sim2:1>sim0:1 does not arrive: " },
	};
	struct rdma_ops real;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		open_fabric(4);
		real = bench.fabric.ops;
		dead = (struct dead){ &real, "sim2", cases[i].only_to };
		bench.fabric.ops.poll = dead_port_poll;
		CHECK_EQ(coll_exchange_open(bench.fabric.sides,
					    &(struct coll_exchange_want){
						    .n = 4, .n_here = 4, .depth = DEPTH },
					    &bench.group, NULL),
			 0);
		run(SIZE, 10 * USEC_PER_SEC);
		CHECK_EQ(bench.group->result.state, COLL_FAILED);
		CHECK_EQ(bench.group->result.suspect, cases[i].suspect);
		CHECK_EQ(bench.group->ops->whole->error(bench.group), -EIO);
		CHECK_HAS(bench.group->result.why, cases[i].words);
		close_all();
	}
}

static void what_has_not_arrived_in_time_is_named(void)
{
	open_all(4);
	bench.fabric.sim.links[SIDES + 3].bytes_per_s = 1; /* nothing gets into port 3 */
	run(SIZE, 20 * USEC_PER_MSEC);
	CHECK_EQ(bench.group->result.state, COLL_LATE);
	CHECK_EQ(bench.group->result.suspect, 3);
	CHECK_HAS(bench.group->result.why,
		  "had not arrived when time ran out; all of it from or to sim3:1");
	CHECK(!bench.group->result.ranks[3].ended);
	close_all();
}

/* --- ranks of two processes --- */

static int wait_with_rest(struct coll *c, uint64_t deadline_us, struct err *err)
{
	(void)c;
	(void)deadline_us;
	if (!bench.absent)
		CHECK(bench.rest->ops->turn(bench.rest, err) >= 0);
	return 0;
}

static void connect(struct coll *c, const struct coll *other, unsigned rank, unsigned peer)
{
	struct pair_offer offer;
	struct err err = ERR_INIT;

	coll_exchange_offer(other, peer, rank, &offer);
	CHECK_EQ(coll_exchange_connect(c, rank, peer, &offer, &err), 0);
	CHECK_STR(err.msg, "");
}

static void open_two(void)
{
	struct coll_exchange_want want = { .n = 3, .n_here = 2, .depth = DEPTH };
	struct err err = ERR_INIT;
	unsigned i;

	open_fabric(3);
	CHECK_EQ(coll_exchange_open(bench.fabric.sides, &want, &bench.group, &err), 0);
	want.first = 2;
	want.n_here = 1;
	CHECK_EQ(coll_exchange_open(bench.fabric.sides + 2, &want, &bench.rest, &err), 0);
	for (i = 0; i < 2; i++) {
		connect(bench.group, bench.rest, i, 2);
		connect(bench.rest, bench.group, 2, i);
	}
	bench.ops = *bench.group->ops;
	bench.ops.wait = wait_with_rest;
	bench.group->ops = &bench.ops;
	CHECK_STR(err.msg, "");
}

static void begin_rest(const struct coll_op *op)
{
	struct err err = ERR_INIT;

	bench.rest->result = (struct coll_result){ .state = COLL_UNDER_WAY, .suspect = COLL_NOBODY };
	CHECK_EQ(bench.rest->ops->start(bench.rest, op, &err), 0);
}

static void ranks_of_two_processes_exchange_too(void)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, SIZE };
	unsigned times, i;

	open_two();
	CHECK(!bench.group->ops->whole && !bench.rest->ops->whole);
	for (times = 0; times < 3; times++) {
		struct err err = ERR_INIT;

		fill(bench.group, SIZE);
		fill(bench.rest, SIZE);
		begin_rest(&op);
		run(SIZE, USEC_PER_SEC);
		for (i = 0; bench.rest->result.state == COLL_UNDER_WAY && i < 100000; i++)
			CHECK(bench.rest->ops->turn(bench.rest, &err) >= 0);
		CHECK_EQ(bench.group->result.state, COLL_DONE);
		CHECK_EQ(bench.rest->result.state, COLL_DONE);
		CHECK_EQ(check_data(bench.group, SIZE).count, 0);
		CHECK_EQ(check_data(bench.rest, SIZE).count, 0);
	}
	close_all();
}

static void what_an_exchange_cannot_do_is_refused(void)
{
	static const struct {
		struct coll_op op;
		int r;
		const char *words;
	} cases[] = {
		{ { COLL_ALL_REDUCE, 1024 }, -EOPNOTSUPP, "all-to-all only" },
		{ { COLL_ALL_TO_ALL, 0 }, -EINVAL, "expected a multiple of 8" },
		{ { COLL_ALL_TO_ALL, 12 }, -EINVAL, "12 bytes: expected a multiple of 8" },
		{ { COLL_ALL_TO_ALL, 1 << 20 }, -EINVAL, "at most 1048512" },
	};
	const struct coll_exchange_want wants[] = { { .n = 1, .n_here = 1 },
						    { .n = 2, .n_here = 3 },
						    { .n = COLL_RANKS_MAX + 1, .n_here = 1 },
						    { .n = 3, .first = 3, .n_here = 1 } };
	struct coll *none = NULL;
	size_t i;

	open_all(2);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(coll_run(bench.group, &cases[i].op, soon_us(1000), NULL, &err), cases[i].r);
		CHECK_HAS(err.msg, cases[i].words);
	}
	for (i = 0; i < ARRAY_SIZE(wants); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(coll_exchange_open(bench.fabric.sides, &wants[i], &none, &err), -EINVAL);
		CHECK_HAS(err.msg, "expected 2 to 64");
	}
	CHECK(!none);
	close_all();
}

static const struct test tests[] = {
	TEST(every_rank_gets_the_block_of_every_other),
	TEST(a_flipped_bit_names_who_sent_it),
	TEST(bus_bandwidth_is_that_of_the_links),
	TEST(moves_alone_go_as_fast_as_their_own_links),
	TEST(a_port_that_is_dead_is_named_and_one_way_is_that_alone),
	TEST(what_has_not_arrived_in_time_is_named),
	TEST(ranks_of_two_processes_exchange_too),
	TEST(what_an_exchange_cannot_do_is_refused),
};

TEST_SUITE(tests);
