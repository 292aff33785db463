/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/verbs.h"

#include <errno.h>
#include <sched.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/coll/ring.h"
#include "probes/loopback/loopback_gpu.h"

enum { RETRIES = 7 };

static int ring_start(struct coll *c, const struct coll_op *op, struct err *err)
{
	struct ring *g = ring_of(c);

	if (op->kind != COLL_PASS_ON && (op->kind != COLL_ALL_REDUCE || g->side->gpu))
		return err_set(
			err, EOPNOTSUPP,
			"a ring over RDMA supports all-reduce only, and sums in host memory only");
	g->adds = op->kind == COLL_ALL_REDUCE;
	if (op->bytes == 0 || op->bytes > c->bytes || op->bytes % (c->n * sizeof(float)) != 0)
		return err_set(err, EINVAL, "%llu bytes: expected a multiple of %zu, at most %llu",
			       (unsigned long long)op->bytes, c->n * sizeof(float),
			       (unsigned long long)c->bytes);
	g->chunk = op->bytes / c->n;
	g->piece = coll_ring_piece(c, op->bytes);
	g->pieces = (g->chunk + g->piece - 1) / g->piece;
	g->total = 2 * (uint64_t)(c->n - 1) * g->pieces;
	g->posted = g->sent = g->received = 0;
	c->result.ranks[0] = (struct coll_rank){ .arrived = true, .arrived_ns = ring_now_ns(c) };
	return ring_post_ready(g, err);
}

static int ring_turn(struct coll *c, struct err *err)
{
	struct ring *g = ring_of(c);
	int told = ring_reap_told(g, err), sent = told < 0 ? told : ring_reap_sent(g, err), r;
	unsigned taken;

	if (sent < 0)
		return sent;
	if (c->result.state != COLL_UNDER_WAY)
		return 1;
	taken = ring_take_in(g);
	r = ring_post_ready(g, err);
	if (r == 0 && g->received == g->total && g->sent == g->total) {
		c->result.ranks[0].ended = true;
		c->result.ranks[0].ended_ns = ring_now_ns(c);
		c->result.state = COLL_DONE;
	}
	return r < 0 ? r : told + sent > 0 || taken > 0;
}

static int ring_wait(struct coll *c, uint64_t deadline_us, struct err *err)
{
	struct ring *g = ring_of(c);
	struct rdma_queue *const queues[] = { g->out.flow.queues[0], g->in.flow.queues[0] };
	uint64_t ready;

	if (g->side->wait == FLOW_EVENTS)
		return ring_ops(g)->wait_any(queues, ARRAY_SIZE(queues), deadline_us, &ready, err);
	(void)sched_yield();
	return 0;
}

/* GPU memory is written through the accelerator engine. */
static int ring_upload(struct ring *g, uint64_t offset, const void *from, uint64_t bytes,
		       struct err *err)
{
	struct accel_region *target = &g->side->gpu->gpu[GPU_TARGET];

	return target->accel->ops->upload(target, offset, from, bytes, err);
}

static int ring_download(struct ring *g, uint64_t offset, void *to, uint64_t bytes, struct err *err)
{
	const struct accel_region *target = &g->side->gpu->gpu[GPU_TARGET];

	return target->accel->ops->download(to, target, offset, bytes, err);
}

static int ring_put(struct coll *c, unsigned rank, uint64_t offset, const void *from,
		    uint64_t bytes, struct err *err)
{
	if (rank != c->first || offset > c->bytes || bytes > c->bytes - offset)
		return err_set(err, EINVAL, "not in the buffer of rank %u", rank);
	if (ring_of(c)->side->gpu)
		return ring_upload(ring_of(c), offset, from, bytes, err);
	memcpy(ring_buffer(ring_of(c)) + offset, from, bytes);
	return 0;
}

static int ring_get(struct coll *c, unsigned rank, uint64_t offset, void *to, uint64_t bytes,
		    struct err *err)
{
	if (rank != c->first || offset > c->bytes || bytes > c->bytes - offset)
		return err_set(err, EINVAL, "not in the buffer of rank %u", rank);
	if (ring_of(c)->side->gpu)
		return ring_download(ring_of(c), offset, to, bytes, err);
	memcpy(to, ring_buffer(ring_of(c)) + offset, bytes);
	return 0;
}

/* Once the queues are closed, the device no longer accesses the memory. */
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
		return err_set(err, EINVAL, "rank %u of %u: expected 2 to %d ranks, from 0",
			       want->rank, want->n, COLL_RANKS_MAX);
	if (want->qps == 0 || want->qps > FLOW_QUEUES_MAX)
		return err_set(err, EINVAL, "%u queue pairs: expected 1 to %d", want->qps,
			       FLOW_QUEUES_MAX);
	g = xcalloc(1, sizeof(*g));
	g->coll = (struct coll){ .ops = &ops,
				 .n = want->n,
				 .first = want->rank,
				 .n_here = 1,
				 .bytes = side->target.bytes / 2 / sizeof(float) * sizeof(float) };
	g->side = side;
	g->depth = want->depth;
	g->batch = flow_batch(want->depth);
	g->size = want->size;
	g->open = true;
	r = pair_lanes_open(&g->out, side, &lanes, err);
	/* The pieces of one operation and of the next both start at the first queue. */
	lanes.receives = RING_RECEIVES / want->qps + 2;
	if (r == 0)
		r = pair_lanes_open(&g->in, side, &lanes, err);
	for (q = 0; r == 0 && q < want->qps; q++)
		r = ring_post_receives(g, q, lanes.receives, err);
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
		return err_wrap(err, r, "from rank %u", ring_before(g));
	r = pair_lanes_connect(&g->out, next_, err);
	return r < 0 ? err_wrap(err, r, "to rank %u", ring_next(g)) : 0;
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
	for (q = 0; ring_ops(g)->posted && q < g->out.flow.n_queues; q++) {
		const struct rdma_posted one = ring_ops(g)->posted(g->out.flow.queues[q]);

		ret->out.requests += one.requests;
		ret->out.bytes += one.bytes;
	}
}

uint64_t coll_ring_piece(const struct coll *c, uint64_t bytes)
{
	const uint64_t chunk = bytes / c->n;
	/* All pieces of an operation, and the first step of the next, may be announced at once. */
	const uint64_t most = RING_RECEIVES / (2 * c->n - 1);
	const uint64_t piece = MAX(MIN(ring_seen(c)->size, chunk), (chunk + most - 1) / most);

	return (piece + sizeof(float) - 1) / sizeof(float) * sizeof(float);
}
