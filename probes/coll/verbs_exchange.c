/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/verbs_exchange.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/words.h"
#include "probes/rnic_pair/pair_side.h"

enum {
	EXCHANGE_TOLD_BYTES = 8,    /* of the send that announces a block */
	EXCHANGE_TOLD_ROOM = 64,    /* where those land, at the end of the source memory */
	EXCHANGE_WORK_OF_PIECE = 2, /* a write, and with the last piece a send */
	/* A peer is at most one operation ahead, because it waits for our block. */
	EXCHANGE_RECEIVES = 4,
	EXCHANGE_RETRIES = 7,
};

/* The connection from a rank of this process to a peer, and back. */
struct way {
	struct pair_lanes lanes;
	uint64_t total; /* pieces to send in the operation */
	uint64_t posted, sent;
	bool awaits;   /* the peer has a block for us */
	uint64_t told; /* announced blocks not waited for yet */
	bool failed;   /* unusable, with the reason in `why` */
	struct rdma_done why;
};

struct exchange {
	struct coll coll; /* first */
	const struct pair_side *sides;
	struct way *ways; /* n_here x n; that of a rank to itself is unused */
	unsigned depth;	  /* outstanding pieces per peer */
	int error;	  /* of a failed operation */
	/* The current operation. */
	uint64_t block, piece; /* bytes */
	uint64_t pieces;       /* per block */
	bool in_it[COLL_RANKS_MAX];
	uint64_t failed_ns; /* when the first connection failed; 0: none */
};

static inline struct exchange *exchange_of(struct coll *c)
{
	return (struct exchange *)c;
}

static inline const struct exchange *exchange_seen(const struct coll *c)
{
	return (const struct exchange *)c;
}

/* From the i-th rank of this process to rank `peer`. */
static inline struct way *exchange_way(struct exchange *g, unsigned i, unsigned peer)
{
	return &g->ways[(size_t)i * g->coll.n + peer];
}

static inline const struct way *exchange_way_seen(const struct coll *c, unsigned i, unsigned peer)
{
	return &exchange_seen(c)->ways[(size_t)i * c->n + peer];
}

/* Data transfer over the connections, and finding those that do not work. */

enum {
	PIECE_MIN = 16 * 1024,
	PIECE_MAX = 512 * 1024,
	PIECES_OF_BLOCK = 8,
	NAME_SIZE = RDMA_NAME_SIZE + 16,
	WAYS_NAMED = 3,
};

/*
 * After the first failed connection, wait for others of the same port, which fail a little later.
 */
#define FAILURES_NS UINT64_C(1000000000)

static const struct rdma_ops *ops_of(const struct exchange *g)
{
	return g->sides[0].engine->ops;
}

static uint64_t now_ns(struct exchange *g)
{
	return ops_of(g)->now_ns(g->sides[0].engine);
}

/* Set the block size, and divide blocks into pieces. */
static void exchange_cut(struct exchange *g, uint64_t block)
{
	g->block = block;
	g->piece = MIN(MAX(block / PIECES_OF_BLOCK, (uint64_t)PIECE_MIN), (uint64_t)PIECE_MAX);
	g->pieces = (block + g->piece - 1) / g->piece;
}

/* --- sending --- */

/* Post the next piece to `peer`; the last one also announces the block. */
static int post_piece(struct exchange *g, unsigned i, unsigned peer, struct err *err)
{
	const struct pair_side *side = &g->sides[i];
	struct way *w = exchange_way(g, i, peer);
	const uint64_t within = w->posted % g->pieces * g->piece;
	const bool last = w->posted + 1 == w->total;
	const struct rdma_work work[EXCHANGE_WORK_OF_PIECE] = {
		{ .opcode = RDMA_WRITE,
		  .id = w->posted,
		  .local = (char *)side->source.at + peer * g->block + within,
		  .lkey = side->source.lkey,
		  .length = (uint32_t)MIN(g->piece, g->block - within),
		  .remote = w->lanes.remote + (g->coll.first + i) * g->block + within,
		  .rkey = w->lanes.rkey,
		  .signalled = !last },
		{ .opcode = RDMA_SEND,
		  .id = w->posted,
		  .local = side->source.at,
		  .lkey = side->source.lkey,
		  .length = EXCHANGE_TOLD_BYTES,
		  .signalled = true,
		  .inlined = true },
	};
	int r = ops_of(g)->post(w->lanes.flow.queues[0], work, last ? EXCHANGE_WORK_OF_PIECE : 1,
				err);

	if (r < 0)
		return r;
	w->posted++;
	return 0;
}

/* Each rank starts with its successor, so that not all send to the same peer first. */
static int exchange_post(struct exchange *g, struct err *err)
{
	const unsigned n = g->coll.n;
	unsigned i, step;
	bool posted = true;
	int r = 0;

	while (posted && r == 0) {
		posted = false;
		for (i = 0; r == 0 && i < g->coll.n_here; i++) {
			for (step = 1; r == 0 && step < n; step++) {
				const unsigned peer = (g->coll.first + i + step) % n;
				const struct way *w = exchange_way(g, i, peer);

				if (w->failed || w->posted == w->total ||
				    w->posted - w->sent >= g->depth)
					continue;
				r = post_piece(g, i, peer, err);
				posted = true;
			}
		}
	}
	return r;
}

/* --- completions --- */

static int exchange_post_receives(struct way *w, unsigned n, struct err *err)
{
	const struct rdma_region *source = &w->lanes.side->source;
	struct rdma_receive receives[RDMA_BATCH_MAX];
	unsigned i;

	for (i = 0; i < MIN(n, (unsigned)RDMA_BATCH_MAX); i++)
		receives[i] = (struct rdma_receive){
			.local = (char *)source->at + source->bytes - EXCHANGE_TOLD_ROOM,
			.lkey = source->lkey,
			.length = EXCHANGE_TOLD_BYTES,
		};
	return w->lanes.side->engine->ops->receive(w->lanes.flow.queues[0], receives,
						   MIN(n, (unsigned)RDMA_BATCH_MAX), err);
}

/* Returns a negative errno if receives cannot be posted again. */
static int reap_way(struct exchange *g, struct way *w, struct err *err)
{
	struct rdma_done done[RDMA_BATCH_MAX];
	int n = ops_of(g)->poll(w->lanes.flow.queues[0], done, ARRAY_SIZE(done), err), i, r;
	unsigned told = 0;

	for (i = 0; i < n; i++) {
		if (done[i].status != RDMA_OK && !w->failed) {
			w->failed = true;
			w->why = done[i];
			g->failed_ns = g->failed_ns ? g->failed_ns : now_ns(g);
		}
		if (done[i].status != RDMA_OK)
			continue;
		if (done[i].received)
			told++;
		else
			w->sent++;
	}
	w->told += told;
	r = told && !w->failed ? exchange_post_receives(w, told, err) : 0;
	return r < 0 ? r : n;
}

/* Has everything been sent, and all awaited blocks announced? If so, consume the announcements. */
static bool exchange_has_ended(struct exchange *g, unsigned i)
{
	unsigned peer;

	for (peer = 0; peer < g->coll.n; peer++) {
		const struct way *w = exchange_way(g, i, peer);

		if (peer != g->coll.first + i && (w->sent < w->total || (w->awaits && !w->told)))
			return false;
	}
	for (peer = 0; peer < g->coll.n; peer++) {
		struct way *w = exchange_way(g, i, peer);

		if (peer != g->coll.first + i && w->awaits)
			w->told--;
	}
	return true;
}

/* --- connections that do not work --- */

static void name_rank(const struct exchange *g, unsigned rank, char ret[static NAME_SIZE])
{
	const struct rdma_port *port;

	if (rank < g->coll.first || rank - g->coll.first >= g->coll.n_here) {
		(void)snprintf(ret, NAME_SIZE, "rank %u", rank);
		return;
	}
	port = g->sides[rank - g->coll.first].port;
	(void)snprintf(ret, NAME_SIZE, "%s:%u", port->device, port->number);
}

static bool has_failed(const struct way *w)
{
	return w->failed;
}

static bool is_missing(const struct way *w)
{
	return w->sent < w->total;
}

/* Connections in one condition: how many, the first ones, and the ranks common to all. */
struct survey {
	unsigned n;
	uint64_t common; /* ranks */
	const struct way *first;
	char names[WAYS_NAMED * 2 * NAME_SIZE];
};

static void add_name(const struct exchange *g, struct survey *s, unsigned from, unsigned to)
{
	const size_t used = strlen(s->names);
	char a[NAME_SIZE], b[NAME_SIZE];

	name_rank(g, from, a);
	name_rank(g, to, b);
	(void)snprintf(s->names + used, sizeof(s->names) - used, "%s%s>%s", used ? ", " : "", a, b);
}

static struct survey survey(struct exchange *g, bool (*is_one)(const struct way *w))
{
	struct survey s = { .common = UINT64_MAX };
	unsigned i, peer;

	for (i = 0; i < g->coll.n_here; i++) {
		for (peer = 0; peer < g->coll.n; peer++) {
			const struct way *w = exchange_way(g, i, peer);
			const unsigned rank = g->coll.first + i;

			if (peer == rank || !is_one(w))
				continue;
			s.first = s.first ? s.first : w;
			/* NOLINTNEXTLINE(clang-analyzer-core.*): ranks are below COLL_RANKS_MAX */
			s.common &= COLL_RANK_BIT(rank) | COLL_RANK_BIT(peer);
			if (s.n++ < WAYS_NAMED)
				add_name(g, &s, rank, peer);
		}
	}
	return s;
}

/* Blame a single rank if several connections are affected and all start or end there. */
static void accuse(struct exchange *g, const struct survey *s)
{
	const uint64_t common = s->n > 1 ? s->common : 0;
	struct coll_result *result = &g->coll.result;
	const bool one = common && (common & (common - 1)) == 0;

	result->suspect = one ? __builtin_ctzll(common) : COLL_NOBODY;
	result->suspects = one ? common : 0;
}

static void tell(struct exchange *g, const struct survey *s, const char *what)
{
	struct coll_result *result = &g->coll.result;
	CLEANUP(freep) char *more = NULL;
	CLEANUP(freep) char *why = NULL;
	char name[NAME_SIZE] = "";

	accuse(g, s);
	more = s->n > WAYS_NAMED ? xasprintf(" and %u more", s->n - WAYS_NAMED) : xstrdup("");
	if (result->suspect != COLL_NOBODY)
		name_rank(g, (unsigned)result->suspect, name);
	why = xasprintf("what goes %s%s %s%s%s", s->names, more, what,
			name[0] ? "; all of it from or to " : "", name);
	(void)snprintf(result->why, sizeof(result->why), "%.*s", COLL_WHY_SIZE - 1, why);
}

static void tell_failed(struct exchange *g)
{
	const struct survey s = survey(g, has_failed);
	CLEANUP(freep) char *words = NULL;
	CLEANUP(freep) char *what = NULL;

	if (!s.first)
		return;
	words = rdma_done_words(&s.first->why);
	what = xasprintf("does not arrive: %s", words);
	g->error = rdma_status_is_sick(s.first->why.status) ? -EIO : -EINVAL;
	g->coll.result.state = COLL_FAILED;
	tell(g, &s, what);
}

/* Report connections on which not everything was acknowledged in time. */
static void exchange_tell_late(struct exchange *g)
{
	const struct survey s = survey(g, is_missing);

	g->error = -ETIMEDOUT;
	if (s.n > 0)
		tell(g, &s, "had not arrived when time ran out");
}

/*
 * Collect completions and return their number. A block that does not arrive fails the operation; a
 * negative errno is an error of this side.
 */
static int exchange_reap(struct exchange *g, struct err *err)
{
	unsigned i, peer;
	int news = 0;

	for (i = 0; i < g->coll.n_here; i++) {
		for (peer = 0; peer < g->coll.n; peer++) {
			int n;

			if (peer == g->coll.first + i)
				continue;
			n = reap_way(g, exchange_way(g, i, peer), err);
			if (n < 0)
				return n;
			news += n;
		}
	}
	if (g->failed_ns && now_ns(g) - g->failed_ns >= FAILURES_NS)
		tell_failed(g);
	return news;
}

/* Once the queues are closed, the devices no longer access the memory. */
static void exchange_close_ways(struct exchange *g)
{
	size_t i;

	for (i = 0; i < (size_t)g->coll.n_here * g->coll.n; i++)
		pair_lanes_close(&g->ways[i].lanes);
}

enum { WAIT_MAX = 64 /* queues per wait_any() */, NSEC_PER_USEC = 1000 };

/* How often to look at the queues if there are more than one wait can watch. */
#define LOOK_US 500

static uint64_t exchange_now_ns(struct coll *c)
{
	return now_ns(exchange_of(c));
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

	/* NaN, which is never a valid value. */
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

/* Plan what each connection has to carry. A rank that takes no part has ended at once. */
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
		return err_set(err, EOPNOTSUPP, "an exchange over RDMA supports all-to-all only");
	if (op->bytes == 0 || op->bytes > c->bytes || op->bytes % (c->n * sizeof(float)) != 0)
		return err_set(err, EINVAL, "%llu bytes: expected a multiple of %zu, at most %llu",
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

/* --- ending --- */

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

/* --- opening --- */

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

/* Connect both ends of the connections within this process. */
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
		return err_set(err, EINVAL, "ranks %u and %u more of %u: expected 2 to %d in all",
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
