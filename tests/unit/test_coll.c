/* SPDX-License-Identifier: Apache-2.0 */
/* The ring on a simulated fabric of several hosts: sums, rates, and what happens if one fails. */
#include <errno.h>
#include <math.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "probes/coll/blame.h"
#include "probes/coll/coll_data.h"
#include "probes/coll/verbs.h"
#include "tests/unit/pair_fabric.h"
#include "tests/unit/test.h"

enum { SIDES = PAIR_FABRIC_SIDES, SEED = 7, DEPTH = 16, PLACES = 2 };

#define LINK_RATE 1e9
#define PIECE (16 * 1024)
#define SIZE (192 * 1024) /* divides by 4 x 2, 3 and 4 */

/* All ranks of a ring in one process: whoever waits lets the others get on. */
static struct ring_of_hosts {
	struct pair_fabric fabric;
	struct sim_path paths[SIDES * PLACES];
	struct coll *ranks[SIDES];
	struct coll_ops ops;
	const struct coll_ops *real;
	unsigned n;
	int kind;	    /* enum coll_kind of what is run */
	bool absent[SIDES]; /* does not begin */
	int dies;	    /* which rank, -1 nobody, at this time: */
	uint64_t dies_at_ns;
} ring;

static void turn_others(const struct coll *but)
{
	unsigned i;

	for (i = 0; i < ring.n; i++) {
		struct coll *c = ring.ranks[i];
		struct err err = ERR_INIT;

		if (ring.dies == (int)i && ring.fabric.sim.now_ns >= ring.dies_at_ns) {
			ring.real->abort(c);
			ring.absent[i] = true;
			ring.dies = -1;
		}
		if (c == but || ring.absent[i] || c->result.state != COLL_UNDER_WAY)
			continue;
		CHECK(ring.real->turn(c, &err) >= 0);
		CHECK_STR(err.msg, "");
	}
}

static int wait_with_others(struct coll *c, uint64_t deadline_us, struct err *err)
{
	(void)deadline_us;
	(void)err;
	turn_others(c);
	return 0;
}

/* Each host's link out is its own. */
static void lay_links(void)
{
	unsigned i, place;

	for (i = 0; i < ring.n; i++) {
		const struct pair_side *side = &ring.fabric.sides[i];
		const struct rdma_region *regions[PLACES] = { &side->target, &side->source };

		ring.fabric.sim.links[i] = (struct sim_link){ .bytes_per_s = LINK_RATE };
		for (place = 0; place < PLACES; place++) {
			struct sim_path *p = &ring.paths[PLACES * i + place];

			*p = (struct sim_path){ .port = 1,
						.at = regions[place]->at,
						.bytes = regions[place]->bytes,
						.links = { i },
						.n_links = 1,
						.factor = 1 };
			memcpy(p->device, side->port->device, RDMA_NAME_SIZE);
		}
	}
	ring.fabric.sim.n_links = ring.n;
	ring.fabric.sim.paths = ring.paths;
	ring.fabric.sim.n_paths = (size_t)PLACES * ring.n;
}

static void ring_open_by(unsigned n, unsigned qps, uint32_t size)
{
	struct coll_offer offers[SIDES];
	struct err err = ERR_INIT;
	unsigned i;

	ring = (struct ring_of_hosts){ .n = n, .dies = -1 };
	pair_fabric_open(&ring.fabric, n);
	ring.fabric.sim.moves = true;
	ring.fabric.sim.poll_s = 1e-6;
	lay_links();
	for (i = 0; i < n; i++) {
		const struct coll_ring_want want = {
			.n = n, .rank = i, .depth = DEPTH, .qps = qps, .size = size
		};

		CHECK_EQ(coll_ring_open(&ring.fabric.sides[i], &want, &ring.ranks[i], &err), 0);
		coll_ring_offer(ring.ranks[i], &offers[i]);
	}
	ring.real = ring.ranks[0]->ops;
	ring.ops = *ring.real;
	ring.ops.wait = wait_with_others;
	ring.ranks[0]->ops = &ring.ops;
	for (i = 0; i < n; i++)
		CHECK_EQ(coll_ring_connect(ring.ranks[i], &offers[(i + n - 1) % n].next,
					   &offers[(i + 1) % n].before, &err),
			 0);
	CHECK_STR(err.msg, "");
}

static void ring_open(unsigned n)
{
	ring_open_by(n, 1, PIECE);
}

static void ring_close(void)
{
	unsigned i;

	for (i = 0; i < ring.n; i++)
		ring.ranks[i]->ops->close(ring.ranks[i]);
	CHECK_EQ(ring.fabric.sim.lost, 0);
	pair_fabric_close(&ring.fabric);
}

static uint64_t soon_us(uint64_t us)
{
	return ring.fabric.sim.now_ns / 1000 + us;
}

/* One operation by all ranks but those that are absent; rank 0 drives. */
static void run(uint64_t bytes, uint64_t us, const struct coll_watch *watch)
{
	const struct coll_op op = { .kind = ring.kind, .bytes = bytes };
	struct err err = ERR_INIT;
	unsigned i;

	for (i = 0; i < ring.n; i++)
		CHECK_EQ(coll_fill(ring.ranks[i], &op, SEED, &err), 0);
	for (i = 1; i < ring.n; i++) {
		ring.ranks[i]->result =
			(struct coll_result){ .state = COLL_UNDER_WAY, .suspect = COLL_NOBODY };
		if (!ring.absent[i])
			CHECK_EQ(ring.real->start(ring.ranks[i], &op, &err), 0);
	}
	CHECK_EQ(coll_run(ring.ranks[0], &op, soon_us(us), watch, &err), 0);
	for (i = 0; ring.ranks[0]->result.state == COLL_DONE && i < ring.n;
	     i += ring.ranks[i]->result.state != COLL_UNDER_WAY)
		turn_others(NULL);
	CHECK_STR(err.msg, "");
}

static void check_sums(uint64_t bytes)
{
	const struct coll_op op = { .kind = ring.kind, .bytes = bytes };
	struct coll_wrong wrong;
	struct err err = ERR_INIT;
	unsigned i;

	for (i = 0; i < ring.n; i++) {
		CHECK_EQ(ring.ranks[i]->result.state, COLL_DONE);
		CHECK_EQ(coll_check(ring.ranks[i], &op, SEED, &wrong, &err), 0);
		CHECK_EQ(wrong.count, 0);
	}
}

static void every_rank_ends_with_the_sum(void)
{
	unsigned n, times;

	for (n = 2; n <= SIDES; n++) {
		/* One element a chunk, a chunk that is no multiple of a piece, the whole buffer. */
		const uint64_t sizes[] = { 4 * n, 4 * n * 10007, SIZE * 2 / (4 * n) * (4 * n) };

		ring_open(n);
		for (times = 0; times < 2; times++) {
			size_t i;

			for (i = 0; i < ARRAY_SIZE(sizes); i++) {
				run(sizes[i], USEC_PER_SEC, NULL);
				check_sums(sizes[i]);
			}
		}
		ring_close();
	}
}

/* As in memory of GPUs: the same bytes go the same ways. */
static void what_is_passed_on_is_what_the_rank_before_had(void)
{
	unsigned n;

	for (n = 2; n <= SIDES; n++) {
		const uint64_t bytes = SIZE * 2 / (4 * n) * (4 * n);
		const struct coll_op op = { .kind = COLL_PASS_ON, .bytes = bytes };
		struct coll_ring_flows flows;
		struct coll_wrong wrong;

		ring_open(n);
		ring.kind = COLL_PASS_ON;
		run(bytes, USEC_PER_SEC, NULL);
		check_sums(bytes);
		coll_ring_flows(ring.ranks[0], &flows);
		CHECK_EQ(flows.out.bytes, 2 * (n - 1) * bytes / n);
		/* What others had is no longer what they should have. */
		CHECK_EQ(coll_fill(ring.ranks[0], &op, SEED, NULL), 0);
		CHECK_EQ(coll_check(ring.ranks[0], &op, SEED, &wrong, NULL), 0);
		CHECK(wrong.count > 0);
		ring_close();
	}
}

/* Pieces come by queues that do not wait for each other; and no more of them than there is room for. */
static void pieces_go_by_all_queues_and_are_as_large_as_asked_for(void)
{
	static const struct {
		unsigned n, qps;
		uint32_t size;
		uint64_t piece; /* of 2 x SIZE */
	} cases[] = {
		{ 2, 1, 4096, 4096 },  { 2, 3, 4096, 4096 },	    { 3, 5, 8191, 8192 },
		{ 4, 16, 4096, 4096 }, { 4, 2, 1 << 20, SIZE / 2 }, { 2, 7, 8, 292 },
		{ 4, 16, 1, 340 },
	};
	size_t i, times;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint64_t bytes = 2 * SIZE;
		struct coll_ring_flows flows;

		ring_open_by(cases[i].n, cases[i].qps, cases[i].size);
		CHECK_EQ(coll_ring_piece(ring.ranks[0], bytes), cases[i].piece);
		for (times = 0; times < 3; times++) {
			run(bytes, USEC_PER_SEC, NULL);
			check_sums(bytes);
		}
		coll_ring_flows(ring.ranks[1], &flows);
		CHECK_EQ(flows.out.bytes, 3 * 2 * (cases[i].n - 1) * bytes / cases[i].n);
		CHECK_EQ(flows.in.bytes, flows.out.bytes);
		CHECK_EQ(flows.in.requests, flows.out.requests);
		ring_close();
	}
}

/* In full operations, that is: four batches of a depth of 16, and the end of a chunk ends one. */
static void pieces_go_in_batches_with_one_completion_each(void)
{
	static const struct {
		unsigned n, qps;
		uint32_t size;
	} cases[] = {
		{ 2, 1, 4096 }, { 3, 1, 4096 }, { 4, 1, 8192 }, { 2, 3, 4096 }, { 4, 2, 4096 }
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct rdma_sim *sim = &ring.fabric.sim;

		ring_open_by(cases[i].n, cases[i].qps, cases[i].size);
		run(2 * SIZE, USEC_PER_SEC, NULL);
		check_sums(2 * SIZE);
		CHECK(sim->requests >= 3 * sim->doorbells);
		CHECK_EQ(sim->signalled, sim->doorbells);
		ring_close();
	}
}

static void a_flipped_bit_is_found_where_it_is(void)
{
	const struct coll_op op = { .kind = COLL_ALL_REDUCE, .bytes = SIZE };
	const uint64_t at = SIZE / 4 / 4 * 2 + 5; /* in the third of four chunks */
	struct coll_wrong wrong;
	struct err err = ERR_INIT;
	uint32_t bits;

	ring_open(4);
	run(SIZE, USEC_PER_SEC, NULL);
	CHECK_EQ(ring.real->get(ring.ranks[1], 1, 4 * at, &bits, sizeof(bits), &err), 0);
	bits ^= 1;
	CHECK_EQ(ring.real->put(ring.ranks[1], 1, 4 * at, &bits, sizeof(bits), &err), 0);
	CHECK_EQ(coll_check(ring.ranks[1], &op, SEED, &wrong, &err), 0);
	CHECK_EQ(wrong.count, 1);
	CHECK_EQ(wrong.at, at);
	CHECK_EQ(wrong.rank, 1);
	CHECK_EQ(wrong.from, 2);
	CHECK(wrong.is != wrong.wanted);
	ring_close();
}

static void rates_of(double *ret_rates)
{
	unsigned i;

	for (i = 0; i < ring.n; i++) {
		const struct coll_rank *rank = &ring.ranks[i]->result.ranks[0];

		ret_rates[i] = (double)rank->sent_bytes / rank->sent_s;
	}
}

/* Of the rank that took longest. */
static double seconds(void)
{
	double most = 0;
	unsigned i;

	for (i = 0; i < ring.n; i++)
		most = MAX(most, coll_seconds(ring.ranks[i]));
	return most;
}

static void bus_bandwidth_is_that_of_the_links(void)
{
	const struct coll_op op = { .kind = COLL_ALL_REDUCE, .bytes = 2 * SIZE };
	unsigned n;

	for (n = 2; n <= SIDES; n++) {
		const struct coll_op fits = { .kind = op.kind,
					      .bytes = op.bytes / (4 * n) * (4 * n) };
		double busbw, rates[SIDES];

		ring_open(n);
		run(fits.bytes, USEC_PER_SEC, NULL);
		busbw = coll_busbw(&fits, n, seconds());
		CHECK_NEAR(busbw, LINK_RATE, 0.1 * LINK_RATE);
		rates_of(rates);
		CHECK_EQ(coll_blame_slow(rates, n).kind, COLL_BLAME_NOBODY);
		ring_close();
	}
}

static void the_slow_link_is_named_though_all_are_as_slow(void)
{
	const struct coll_op op = { .kind = COLL_ALL_REDUCE, .bytes = 2 * SIZE };
	unsigned slow;

	for (slow = 0; slow < 4; slow++) {
		struct coll_blame blame;
		double rates[SIDES];

		ring_open(4);
		ring.fabric.sim.links[slow].bytes_per_s = LINK_RATE / 2;
		run(op.bytes, USEC_PER_SEC, NULL);
		CHECK_NEAR(coll_busbw(&op, 4, seconds()), LINK_RATE / 2, 0.1 * LINK_RATE);
		rates_of(rates);
		blame = coll_blame_slow(rates, 4);
		CHECK_EQ(blame.kind, COLL_BLAME_LINK);
		CHECK_EQ(blame.rank, slow);
		CHECK_NEAR(blame.share, 0.5, 0.1);
		ring_close();
	}
}

static void a_rank_that_never_begins_leaves_the_others_late(void)
{
	ring_open(3);
	ring.absent[2] = true;
	run(SIZE, 100 * USEC_PER_MSEC, NULL);
	CHECK_EQ(ring.ranks[0]->result.state, COLL_LATE);
	CHECK_HAS(ring.ranks[0]->result.why, "had not finished");
	CHECK_EQ(ring.ranks[1]->result.state, COLL_UNDER_WAY);
	CHECK(!ring.ranks[0]->result.ranks[0].ended);
	CHECK(isnan(coll_seconds(ring.ranks[0])));
	ring_close();
}

/* The rank before it is the one that can tell. */
static void a_rank_that_dies_is_named_by_the_one_before(void)
{
	ring_open(4);
	ring.dies = 1;
	ring.dies_at_ns = ring.fabric.sim.now_ns + 100000;
	run(2 * SIZE, 5 * USEC_PER_SEC, NULL);
	CHECK_EQ(ring.ranks[0]->result.state, COLL_FAILED);
	CHECK_EQ(ring.ranks[0]->result.suspect, 1);
	CHECK_HAS(ring.ranks[0]->result.why, "data sent by rank 0 does not reach rank 1");
	ring_close();
}

static bool gives_up(void *context, int *ret_suspect, char ret_why[static COLL_WHY_SIZE])
{
	unsigned *looks = context;

	*ret_suspect = 2;
	memcpy(ret_why, "told", sizeof("told"));
	return ++*looks == 2;
}

static void somebody_else_may_give_it_up(void)
{
	unsigned looks = 0;
	const struct coll_watch watch = { gives_up, &looks };
	uint64_t begun_ns;

	ring_open(3);
	ring.absent[2] = true;
	begun_ns = ring.fabric.sim.now_ns;
	run(SIZE, USEC_PER_SEC, &watch);
	CHECK_EQ(ring.ranks[0]->result.state, COLL_TOLD);
	CHECK_EQ(ring.ranks[0]->result.suspect, 2);
	CHECK_STR(ring.ranks[0]->result.why, "told");
	CHECK(ring.fabric.sim.now_ns - begun_ns < 100000000);
	ring_close();
}

static void what_a_ring_cannot_do_is_refused(void)
{
	static const struct {
		struct coll_op op;
		int r;
		const char *words;
	} cases[] = {
		{ { COLL_ALL_TO_ALL, 1024 }, -EOPNOTSUPP, "all-reduce only" },
		{ { COLL_ALL_REDUCE, 0 }, -EINVAL, "expected a multiple of 8" },
		{ { COLL_ALL_REDUCE, 12 }, -EINVAL, "12 bytes: expected a multiple of 8" },
		{ { COLL_ALL_REDUCE, 1 << 20 }, -EINVAL, "at most 524288" },
	};
	size_t i;

	ring_open(2);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(coll_run(ring.ranks[0], &cases[i].op, soon_us(1000), NULL, &err),
			 cases[i].r);
		CHECK_HAS(err.msg, cases[i].words);
	}
	ring_close();
}

static void blocks_of_an_all_to_all_come_from_their_senders(void)
{
	const uint64_t elements = 12;
	uint64_t i;

	for (i = 0; i < elements; i++)
		CHECK_NEAR(coll_wanted(COLL_ALL_TO_ALL, SEED, 3, 1, elements, i),
			   coll_value(SEED, (unsigned)(i / 4), 4 + i % 4), 0);
	CHECK_NEAR(coll_busbw(&(struct coll_op){ COLL_ALL_TO_ALL, 1000 }, 4, 1), 750, 1e-9);
	CHECK_NEAR(coll_busbw(&(struct coll_op){ COLL_ALL_REDUCE, 1000 }, 4, 1), 1500, 1e-9);
}

static const struct test tests[] = {
	TEST(every_rank_ends_with_the_sum),
	TEST(what_is_passed_on_is_what_the_rank_before_had),
	TEST(pieces_go_by_all_queues_and_are_as_large_as_asked_for),
	TEST(pieces_go_in_batches_with_one_completion_each),
	TEST(a_flipped_bit_is_found_where_it_is),
	TEST(bus_bandwidth_is_that_of_the_links),
	TEST(the_slow_link_is_named_though_all_are_as_slow),
	TEST(a_rank_that_never_begins_leaves_the_others_late),
	TEST(a_rank_that_dies_is_named_by_the_one_before),
	TEST(somebody_else_may_give_it_up),
	TEST(what_a_ring_cannot_do_is_refused),
	TEST(blocks_of_an_all_to_all_come_from_their_senders),
};

TEST_SUITE(tests);
