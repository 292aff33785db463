/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/verbs.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include "lib/err.h"
#include "lib/xalloc.h"
#include "probes/rdma/words.h"
#include "probes/rnic_pair/pair_side.h"

enum {
	RECEIVES = 2048,   /* pieces told of, and not yet looked at, at most */
	RECEIVE_BYTES = 8, /* that a write which tells leaves as they are */
	RETRIES = 7,
};

struct ring {
	struct coll coll;
	const struct pair_side *side;
	struct pair_lanes out, in; /* to the next rank, from the one before */
	unsigned depth;		   /* pieces under way, of each queue */
	uint64_t size;		   /* of a piece, as it is wanted */
	bool open;
	struct rdma_posted taken_in; /* since it is open */
	/* The operation. Piece m goes by queue m modulo their number. */
	uint64_t chunk, piece; /* bytes */
	uint64_t pieces;       /* of a chunk */
	uint64_t total;	       /* that are sent, and received */
	uint64_t posted, sent, received;
	/* By queue: pieces posted and not ended; come, and not taken in. */
	uint64_t under_way[FLOW_QUEUES_MAX], told[FLOW_QUEUES_MAX];
};

static struct ring *ring_of(struct coll *c)
{
	return (struct ring *)c; /* it begins with it */
}

static const struct ring *ring_seen(const struct coll *c)
{
	return (const struct ring *)c;
}

static const struct rdma_ops *ops_of(const struct ring *g)
{
	return g->side->engine->ops;
}

static uint64_t ring_now_ns(struct coll *c)
{
	return ops_of(ring_of(c))->now_ns(ring_of(c)->side->engine);
}

static char *buffer_of(const struct ring *g)
{
	return g->side->target.at;
}

/* --- where a piece goes --- */

struct place {
	uint64_t offset;  /* in the buffer */
	uint64_t landing; /* in the target memory of the receiver */
	uint64_t bytes;
	bool adds;
};

/* Piece `m` of those that `rank` sends. */
static struct place place_of(const struct ring *g, unsigned rank, uint64_t m)
{
	const unsigned n = g->coll.n, steps = n - 1;
	const unsigned step = (unsigned)(m / g->pieces);
	const uint64_t within = m % g->pieces * g->piece;
	const bool adds = step < steps;
	const unsigned chunk = adds ? (rank + n - step) % n : (rank + 1 + n - (step - steps)) % n;
	struct place p = { .offset = chunk * g->chunk + within,
			   .bytes = MIN(g->piece, g->chunk - within),
			   .adds = adds };

	p.landing = adds ? g->coll.bytes + step * g->chunk + within : p.offset;
	return p;
}

static size_t queue_of(const struct ring *g, uint64_t m)
{
	return m % g->out.flow.n_queues;
}

static unsigned before(const struct ring *g)
{
	return (g->coll.first + g->coll.n - 1) % g->coll.n;
}

static unsigned next(const struct ring *g)
{
	return (g->coll.first + 1) % g->coll.n;
}

/* --- sending --- */

static int post_piece(struct ring *g, struct err *err)
{
	const struct pair_side *side = g->side;
	const struct place p = place_of(g, g->coll.first, g->posted);
	const size_t q = queue_of(g, g->posted);
	const struct rdma_work work = {
		.opcode = RDMA_WRITE_TELL,
		.id = q,
		.local = buffer_of(g) + p.offset,
		.lkey = side->target.lkey,
		.length = (uint32_t)p.bytes,
		.remote = g->out.remote + p.landing,
		.rkey = g->out.rkey,
		.signalled = true,
	};
	int r = ops_of(g)->post(g->out.flow.queues[q], &work, 1, err);

	if (r < 0)
		return r;
	g->under_way[q]++;
	g->posted++;
	return 0;
}

/* The first step has what the buffer holds, each later one what came in the step before. */
static int post_ready(struct ring *g, struct err *err)
{
	const uint64_t ready = MIN(g->total, g->pieces + g->received);
	int r = 0;

	while (r == 0 && g->posted < ready && g->under_way[queue_of(g, g->posted)] < g->depth)
		r = post_piece(g, err);
	return r;
}

/* What was posted did not get there: the next rank, or the way to it. */
static void set_lost(struct ring *g, const struct rdma_done *done)
{
	CLEANUP(freep) char *words = rdma_done_words(done);
	struct coll_result *result = &g->coll.result;

	result->state = COLL_FAILED;
	result->suspect = (int)next(g);
	(void)snprintf(result->why, sizeof(result->why),
		       "what rank %u sends does not get to rank %u: %s", g->coll.first, next(g),
		       words);
}

/* The first chunk waited for nobody. */
static void time_first(struct ring *g)
{
	struct coll_rank *rank = &g->coll.result.ranks[0];

	if (rank->sent_bytes > 0 || g->sent < g->pieces)
		return;
	rank->sent_bytes = g->chunk;
	rank->sent_s = (double)(ring_now_ns(&g->coll) - rank->arrived_ns) / 1e9;
}

static int reap_sent(struct ring *g, struct err *err)
{
	struct rdma_done done[RDMA_BATCH_MAX];
	int n = ops_of(g)->poll(g->out.flow.queues[0], done, ARRAY_SIZE(done), err), i;

	for (i = 0; i < n; i++) {
		if (done[i].status != RDMA_OK) {
			set_lost(g, &done[i]);
			return n;
		}
		g->under_way[done[i].id]--;
		g->sent++;
	}
	if (n > 0)
		time_first(g);
	return n;
}

/* --- receiving --- */

static int post_receives(struct ring *g, size_t q, unsigned n, struct err *err)
{
	struct rdma_receive receives[RDMA_BATCH_MAX];
	unsigned i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(receives); i++)
		receives[i] = (struct rdma_receive){ .id = q,
						     .local = g->side->source.at,
						     .lkey = g->side->source.lkey,
						     .length = RECEIVE_BYTES };
	for (i = 0; r == 0 && i < n; i += RDMA_BATCH_MAX)
		r = ops_of(g)->receive(g->in.flow.queues[q], receives,
				       MIN(n - i, (unsigned)RDMA_BATCH_MAX), err);
	return r;
}

static int reap_told(struct ring *g, struct err *err)
{
	struct rdma_done done[RDMA_BATCH_MAX];
	unsigned came[FLOW_QUEUES_MAX] = { 0 };
	int n = ops_of(g)->poll(g->in.flow.queues[0], done, ARRAY_SIZE(done), err), i, r = 0;
	size_t q;

	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *words = NULL;

		if (done[i].status == RDMA_OK) {
			came[done[i].id]++;
			continue;
		}
		words = rdma_done_words(&done[i]);
		return err_set(err, EIO, "rank %u cannot receive: %s", g->coll.first, words);
	}
	for (q = 0; r == 0 && n > 0 && q < g->in.flow.n_queues; q++) {
		g->told[q] += came[q];
		r = post_receives(g, q, came[q], err);
	}
	return r < 0 ? r : n;
}

static void add_up(float *to, const float *from, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		to[i] += from[i];
}

/* Queues do not wait for each other: the next piece may come after those behind it. */
static void take_in(struct ring *g)
{
	while (g->received < g->total && g->told[queue_of(g, g->received)] > 0) {
		const struct place p = place_of(g, before(g), g->received);

		if (p.adds)
			add_up((float *)(void *)(buffer_of(g) + p.offset),
			       (const float *)(const void *)(buffer_of(g) + p.landing),
			       p.bytes / sizeof(float));
		g->told[queue_of(g, g->received)]--;
		g->received++;
		g->taken_in.requests++;
		g->taken_in.bytes += p.bytes;
	}
}

/* --- the table --- */

static int ring_start(struct coll *c, const struct coll_op *op, struct err *err)
{
	struct ring *g = ring_of(c);

	if (op->kind != COLL_ALL_REDUCE)
		return err_set(err, EOPNOTSUPP, "a ring over RDMA does all-reduce only");
	if (op->bytes == 0 || op->bytes > c->bytes || op->bytes % (c->n * sizeof(float)) != 0)
		return err_set(err, EINVAL, "%llu bytes: want a multiple of %zu, at most %llu",
			       (unsigned long long)op->bytes, c->n * sizeof(float),
			       (unsigned long long)c->bytes);
	g->chunk = op->bytes / c->n;
	g->piece = coll_ring_piece(c, op->bytes);
	g->pieces = (g->chunk + g->piece - 1) / g->piece;
	g->total = 2 * (uint64_t)(c->n - 1) * g->pieces;
	g->posted = g->sent = g->received = 0;
	c->result.ranks[0] = (struct coll_rank){ .arrived = true, .arrived_ns = ring_now_ns(c) };
	return post_ready(g, err);
}

static int ring_turn(struct coll *c, struct err *err)
{
	struct ring *g = ring_of(c);
	int told = reap_told(g, err), sent = told < 0 ? told : reap_sent(g, err), r;

	if (sent < 0)
		return sent;
	if (c->result.state != COLL_UNDER_WAY)
		return 1;
	take_in(g);
	r = post_ready(g, err);
	if (r == 0 && g->received == g->total && g->sent == g->total) {
		c->result.ranks[0].ended = true;
		c->result.ranks[0].ended_ns = ring_now_ns(c);
		c->result.state = COLL_DONE;
	}
	return r < 0 ? r : told + sent > 0;
}

static int ring_wait(struct coll *c, uint64_t deadline_us, struct err *err)
{
	struct ring *g = ring_of(c);
	struct rdma_queue *const queues[] = { g->out.flow.queues[0], g->in.flow.queues[0] };
	uint64_t ready;

	if (g->side->wait == FLOW_EVENTS)
		return ops_of(g)->wait_any(queues, ARRAY_SIZE(queues), deadline_us, &ready, err);
	(void)sched_yield();
	return 0;
}

static int ring_put(struct coll *c, unsigned rank, uint64_t offset, const void *from,
		    uint64_t bytes, struct err *err)
{
	if (rank != c->first || offset > c->bytes || bytes > c->bytes - offset)
		return err_set(err, EINVAL, "not in the buffer of rank %u", rank);
	memcpy(buffer_of(ring_of(c)) + offset, from, bytes);
	return 0;
}

static int ring_get(struct coll *c, unsigned rank, uint64_t offset, void *to, uint64_t bytes,
		    struct err *err)
{
	if (rank != c->first || offset > c->bytes || bytes > c->bytes - offset)
		return err_set(err, EINVAL, "not in the buffer of rank %u", rank);
	memcpy(to, buffer_of(ring_of(c)) + offset, bytes);
	return 0;
}

/* With its queues gone nothing of the device reads or writes the memory any more. */
static void ring_abort(struct coll *c)
{
	struct ring *g = ring_of(c);

	if (!g->open)
		return;
	pair_lanes_close(&g->out);
	pair_lanes_close(&g->in);
	g->open = false;
}

static void ring_close(struct coll *c)
{
	ring_abort(c);
	free(ring_of(c));
}

int coll_ring_open(const struct pair_side *side, const struct coll_ring_want *want,
		   struct coll **ret, struct err *err)
{
	static const struct coll_ops ops = {
		.name = "verbs",
		.put = ring_put,
		.get = ring_get,
		.start = ring_start,
		.turn = ring_turn,
		.wait = ring_wait,
		.abort = ring_abort,
		.close = ring_close,
		.now_ns = ring_now_ns,
	};
	struct pair_want lanes = {
		.qps = want->qps, .depth = want->depth, .retries = RETRIES, .mtu = want->mtu
	};
	struct ring *g;
	size_t q;
	int r;

	if (want->n < 2 || want->n > COLL_RANKS_MAX || want->rank >= want->n)
		return err_set(err, EINVAL, "rank %u of %u: want 2 to %d ranks, from 0", want->rank,
			       want->n, COLL_RANKS_MAX);
	if (want->qps == 0 || want->qps > FLOW_QUEUES_MAX)
		return err_set(err, EINVAL, "%u queue pairs: want 1 to %d", want->qps,
			       FLOW_QUEUES_MAX);
	g = xcalloc(1, sizeof(*g));
	g->coll = (struct coll){ .ops = &ops,
				 .n = want->n,
				 .first = want->rank,
				 .n_here = 1,
				 .bytes = side->target.bytes / 2 / sizeof(float) * sizeof(float) };
	g->side = side;
	g->depth = want->depth;
	g->size = want->size;
	g->open = true;
	r = pair_lanes_open(&g->out, side, &lanes, err);
	/* The pieces of an operation and of the next one both begin at the first queue. */
	lanes.receives = RECEIVES / want->qps + 2;
	if (r == 0)
		r = pair_lanes_open(&g->in, side, &lanes, err);
	for (q = 0; r == 0 && q < want->qps; q++)
		r = post_receives(g, q, lanes.receives, err);
	if (r < 0) {
		ring_close(&g->coll);
		return r;
	}
	*ret = &g->coll;
	return 0;
}

void coll_ring_offer(const struct coll *c, struct coll_offer *ret)
{
	pair_lanes_offer(&ring_seen(c)->out, &ret->next);
	pair_lanes_offer(&ring_seen(c)->in, &ret->before);
}

int coll_ring_connect(struct coll *c, const struct pair_offer *before_,
		      const struct pair_offer *next_, struct err *err)
{
	struct ring *g = ring_of(c);
	int r = pair_lanes_connect(&g->in, before_, err);

	if (r < 0)
		return err_wrap(err, r, "from rank %u", before(g));
	r = pair_lanes_connect(&g->out, next_, err);
	return r < 0 ? err_wrap(err, r, "to rank %u", next(g)) : 0;
}

unsigned coll_ring_mtu(const struct coll *c)
{
	return pair_lanes_mtu(&ring_seen(c)->out);
}

void coll_ring_flows(const struct coll *c, struct coll_ring_flows *ret)
{
	const struct ring *g = ring_seen(c);
	size_t q;

	*ret = (struct coll_ring_flows){ .in = g->taken_in };
	for (q = 0; ops_of(g)->posted && q < g->out.flow.n_queues; q++) {
		const struct rdma_posted one = ops_of(g)->posted(g->out.flow.queues[q]);

		ret->out.requests += one.requests;
		ret->out.bytes += one.bytes;
	}
}

uint64_t coll_ring_piece(const struct coll *c, uint64_t bytes)
{
	const uint64_t chunk = bytes / c->n;
	/* All of an operation, and the first step of the one after it, may be told of at once. */
	const uint64_t most = RECEIVES / (2 * c->n - 1);
	const uint64_t piece = MAX(MIN(ring_seen(c)->size, chunk), (chunk + most - 1) / most);

	return (piece + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}
