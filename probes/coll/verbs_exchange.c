/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/verbs_exchange.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/coll/exchange_group.h"
#include "probes/rnic_pair/pair_side.h"

enum { WAIT_MAX = 64 /* queues of one wait_any() */, NSEC_PER_USEC = 1000 };

/* Where there are more queues than one wait can watch they are looked at this often. */
#define LOOK_US 500

static const struct rdma_ops *ops_of(const struct exchange *g)
{
	return g->sides[0].engine->ops;
}

static uint64_t exchange_now_ns(struct coll *c)
{
	struct exchange *g = exchange_of(c);

	return ops_of(g)->now_ns(g->sides[0].engine);
}

/* --- data --- */

static int check_place(const struct coll *c, unsigned rank, uint64_t offset, uint64_t bytes,
		       struct err *err)
{
	if (rank < c->first || rank - c->first >= c->n_here || offset > c->bytes ||
	    bytes > c->bytes - offset)
		return err_set(err, EINVAL, "not in the buffer of rank %u", rank);
	return 0;
}

static int exchange_put(struct coll *c, unsigned rank, uint64_t offset, const void *from,
			uint64_t bytes, struct err *err)
{
	int r = check_place(c, rank, offset, bytes, err);

	if (r == 0)
		memcpy((char *)exchange_of(c)->sides[rank - c->first].source.at + offset, from,
		       bytes);
	return r;
}

static int exchange_get(struct coll *c, unsigned rank, uint64_t offset, void *to, uint64_t bytes,
			struct err *err)
{
	const struct exchange *g = exchange_of(c);
	const uint64_t own = rank * g->block, end = own + g->block;
	int r = check_place(c, rank, offset, bytes, err);
	const struct pair_side *side;
	uint64_t from, until;

	if (r < 0)
		return r;
	side = &g->sides[rank - c->first];
	memcpy(to, (const char *)side->target.at + offset, bytes);
	from = MAX(offset, own);
	until = MIN(offset + bytes, end);
	if (from < until)
		memcpy((char *)to + (from - offset), (const char *)side->source.at + from,
		       until - from);
	return 0;
}

static int exchange_spread(struct coll *c, uint64_t bytes, struct err *err UNUSED)
{
	const struct exchange *g = exchange_of(c);
	uint64_t filled, more;
	unsigned i;

	for (i = 0; i < c->n_here; i++) {
		char *at = g->sides[i].source.at;

		for (filled = bytes; filled < c->bytes; filled += more) {
			more = MIN(filled, c->bytes - filled);
			memcpy(at + filled, at, more);
		}
	}
	return 0;
}

static int exchange_blot(struct coll *c, uint64_t bytes, struct err *err UNUSED)
{
	const struct exchange *g = exchange_of(c);
	unsigned i;

	/* No number at all. */
	for (i = 0; i < c->n_here; i++)
		memset(g->sides[i].target.at, 0xff, MIN(bytes, c->bytes));
	return 0;
}

/* --- an operation --- */

static double exchange_seconds(const struct coll *c, unsigned rank)
{
	const struct exchange *g = exchange_seen(c);
	const struct coll_rank *told = &c->result.ranks[rank - c->first];

	if (!told->ended || !g->in_it[rank - c->first])
		return (double)NAN;
	return (double)(told->ended_ns - told->arrived_ns) / 1e9 / c->times;
}

static int exchange_error(const struct coll *c)
{
	return exchange_seen(c)->error;
}

static bool is_moved(const struct coll *c, unsigned from, unsigned to)
{
	unsigned i = 0;

	while (i < c->n_moves && (c->moves[i].from != from || c->moves[i].to != to))
		i++;
	return c->n_moves == 0 || i < c->n_moves;
}

/* What each way has to carry; a rank that has no part in it has ended at once. */
static void plan_ways(struct exchange *g)
{
	const struct coll *c = &g->coll;
	const uint64_t now_ns = exchange_now_ns(&g->coll);
	unsigned i, peer;

	for (i = 0; i < c->n_here; i++) {
		g->in_it[i] = false;
		for (peer = 0; peer < c->n; peer++) {
			struct way *w = exchange_way(g, i, peer);
			const unsigned rank = c->first + i;

			w->total = is_moved(c, rank, peer) ? g->pieces * c->times : 0;
			w->awaits = is_moved(c, peer, rank);
			w->posted = w->sent = 0;
			w->failed = false;
			if (peer != rank)
				g->in_it[i] |= w->total > 0 || w->awaits;
		}
		g->coll.result.ranks[i] = (struct coll_rank){ .arrived = true,
							      .ended = !g->in_it[i],
							      .arrived_ns = now_ns,
							      .ended_ns = now_ns };
	}
}

static int exchange_start(struct coll *c, const struct coll_op *op, struct err *err)
{
	struct exchange *g = exchange_of(c);

	if (op->kind != COLL_ALL_TO_ALL)
		return err_set(err, EOPNOTSUPP, "an exchange over RDMA does all-to-all only");
	if (op->bytes == 0 || op->bytes > c->bytes || op->bytes % (c->n * sizeof(float)) != 0)
		return err_set(err, EINVAL, "%llu bytes: want a multiple of %zu, at most %llu",
			       (unsigned long long)op->bytes, c->n * sizeof(float),
			       (unsigned long long)c->bytes);
	exchange_cut(g, op->bytes / c->n);
	g->error = 0;
	g->failed_ns = 0;
	plan_ways(g);
	return exchange_post(g, err);
}

static int exchange_turn(struct coll *c, struct err *err)
{
	struct exchange *g = exchange_of(c);
	int news = exchange_reap(g, err), r;
	unsigned i, n_ended = 0;

	if (news < 0 || c->result.state != COLL_UNDER_WAY)
		return news < 0 ? news : 1;
	r = exchange_post(g, err);
	for (i = 0; i < c->n_here; i++) {
		struct coll_rank *rank = &c->result.ranks[i];

		if (!rank->ended && exchange_has_ended(g, i)) {
			rank->ended = true;
			rank->ended_ns = exchange_now_ns(c);
		}
		n_ended += rank->ended;
	}
	if (n_ended == c->n_here)
		c->result.state = COLL_DONE;
	return r < 0 ? r : news > 0;
}

static int exchange_wait(struct coll *c, uint64_t deadline_us, struct err *err)
{
	struct exchange *g = exchange_of(c);
	struct rdma_queue *queues[WAIT_MAX];
	uint64_t ready, look_us;
	unsigned i, peer, n = 0;

	if (g->sides[0].wait != FLOW_EVENTS) {
		(void)sched_yield();
		return 0;
	}
	for (i = 0; i < c->n_here; i++) {
		for (peer = 0; peer < c->n && n < WAIT_MAX; peer++) {
			if (peer != c->first + i)
				queues[n++] = exchange_way(g, i, peer)->lanes.flow.queues[0];
		}
	}
	look_us = exchange_now_ns(c) / NSEC_PER_USEC + LOOK_US;
	if (c->n_here * (c->n - 1) <= WAIT_MAX || look_us >= deadline_us)
		return ops_of(g)->wait_any(queues, n, deadline_us, &ready, err);
	(void)ops_of(g)->wait_any(queues, n, look_us, &ready, NULL);
	return 0;
}

/* --- its end --- */

static void exchange_abort(struct coll *c)
{
	struct exchange *g = exchange_of(c);

	if (c->result.state == COLL_LATE)
		exchange_tell_late(g);
	exchange_close_ways(g);
}

static void exchange_close(struct coll *c)
{
	struct exchange *g = exchange_of(c);

	exchange_close_ways(g);
	free(g->ways);
	free(g);
}

/* --- its beginning --- */

static int open_ways(struct exchange *g, const struct coll_exchange_want *want, struct err *err)
{
	const struct pair_want lanes = { .qps = 1,
					 .depth = EXCHANGE_WORK_OF_PIECE * want->depth,
					 .retries = EXCHANGE_RETRIES,
					 .mtu = want->mtu,
					 .receives = EXCHANGE_RECEIVES };
	unsigned i, peer;
	int r = 0;

	for (i = 0; i < want->n_here; i++) {
		for (peer = 0; r == 0 && peer < want->n; peer++) {
			struct way *w = exchange_way(g, i, peer);

			if (peer == want->first + i)
				continue;
			r = pair_lanes_open(&w->lanes, &g->sides[i], &lanes, err);
			if (r == 0)
				r = exchange_post_receives(w, EXCHANGE_RECEIVES, err);
			if (r < 0)
				return err_wrap(err, r, "%s port %u", g->sides[i].port->device,
						g->sides[i].port->number);
		}
	}
	return r;
}

/* Both ends of what is within this process. */
static int join_here(struct exchange *g, struct err *err)
{
	const struct coll *c = &g->coll;
	unsigned i, j;
	int r = 0;

	for (i = 0; r == 0 && i < c->n_here; i++) {
		for (j = 0; r == 0 && j < c->n_here; j++) {
			struct way *w = exchange_way(g, i, c->first + j);
			struct pair_offer offer;

			if (i == j)
				continue;
			coll_exchange_offer(c, c->first + j, c->first + i, &offer);
			r = pair_lanes_connect(&w->lanes, &offer, err);
			w->lanes.other = &g->sides[j];
			if (r < 0)
				return err_wrap(err, r, "%s:%u>%s:%u", g->sides[i].port->device,
						g->sides[i].port->number, g->sides[j].port->device,
						g->sides[j].port->number);
		}
	}
	return r;
}

static uint64_t smallest(const struct pair_side *sides, unsigned n)
{
	uint64_t bytes = COLL_BYTES_MAX;
	unsigned i;

	for (i = 0; i < n; i++) {
		bytes = MIN(bytes, sides[i].target.bytes);
		bytes = MIN(bytes, sides[i].source.bytes - EXCHANGE_TOLD_ROOM);
	}
	return bytes / sizeof(float) * sizeof(float);
}

static const struct coll_whole_ops whole_ops = {
	.seconds = exchange_seconds,
	.spread = exchange_spread,
	.blot = exchange_blot,
	.error = exchange_error,
};

#define OPS(whole_)                                                                          \
	{                                                                                    \
		.name = "verbs", .put = exchange_put, .get = exchange_get,                   \
		.start = exchange_start, .turn = exchange_turn, .wait = exchange_wait,       \
		.abort = exchange_abort, .close = exchange_close, .now_ns = exchange_now_ns, \
		.whole = (whole_),                                                           \
	}

int coll_exchange_open(const struct pair_side *sides, const struct coll_exchange_want *want,
		       struct coll **ret, struct err *err)
{
	static const struct coll_ops ops = OPS(NULL), ops_whole = OPS(&whole_ops);
	struct exchange *g;
	int r;

	if (want->n < 2 || want->n > COLL_RANKS_MAX || want->n_here == 0 ||
	    want->first >= want->n || want->n_here > want->n - want->first)
		return err_set(err, EINVAL, "ranks %u and %u more of %u: want 2 to %d in all",
			       want->first, want->n_here, want->n, COLL_RANKS_MAX);
	g = xcalloc(1, sizeof(*g));
	g->coll = (struct coll){ .ops = want->n_here == want->n ? &ops_whole : &ops,
				 .n = want->n,
				 .first = want->first,
				 .n_here = want->n_here,
				 .bytes = smallest(sides, want->n_here),
				 .times = 1 };
	g->sides = sides;
	g->depth = MAX(want->depth, 1U);
	g->ways = xcalloc((size_t)want->n_here * want->n, sizeof(*g->ways));
	r = open_ways(g, want, err);
	if (r == 0)
		r = join_here(g, err);
	if (r < 0)
		exchange_close(&g->coll);
	else
		*ret = &g->coll;
	return r;
}

void coll_exchange_offer(const struct coll *c, unsigned rank, unsigned peer, struct pair_offer *ret)
{
	pair_lanes_offer(&exchange_way_seen(c, rank - c->first, peer)->lanes, ret);
}

int coll_exchange_connect(struct coll *c, unsigned rank, unsigned peer,
			  const struct pair_offer *offer, struct err *err)
{
	struct way *w = exchange_way(exchange_of(c), rank - c->first, peer);
	int r = pair_lanes_connect(&w->lanes, offer, err);

	return r < 0 ? err_wrap(err, r, "rank %u with rank %u", rank, peer) : 0;
}

const struct pair_lanes *coll_exchange_lanes(const struct coll *c, unsigned rank, unsigned peer)
{
	return &exchange_way_seen(c, rank - c->first, peer)->lanes;
}

unsigned coll_exchange_mtu(const struct coll *c)
{
	unsigned mtu = 0, i, peer;

	for (i = 0; i < c->n_here; i++) {
		for (peer = 0; peer < c->n; peer++) {
			const struct way *w = exchange_way_seen(c, i, peer);

			if (w->lanes.side && (mtu == 0 || pair_lanes_mtu(&w->lanes) < mtu))
				mtu = pair_lanes_mtu(&w->lanes);
		}
	}
	return mtu;
}
