/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a ring: where each belongs, sending them, and adding up those that arrive. */
#include "probes/coll/ring.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/words.h"

enum {
	RECEIVE_BYTES = 8, /* a write with immediate does not use the buffer */
	ADDED_AT_ONCE = 16,
};

/* --- the place of a piece --- */

struct place {
	uint64_t offset;  /* in the buffer */
	uint64_t landing; /* in the target memory of the receiver */
	uint64_t bytes;
	bool adds;
};

/* Where piece `m` of those that `rank` sends belongs. */
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

/* --- sending --- */

enum {
	ID_BITS = 8, /* of a completion: the queue; the bits above are its number of pieces */
	ID_MASK = (1 << ID_BITS) - 1,
};

static struct rdma_work work_of(const struct ring *g, uint64_t m)
{
	const struct place p = place_of(g, g->coll.first, m);

	return (struct rdma_work){
		.opcode = RDMA_WRITE_TELL,
		.local = ring_buffer(g) + p.offset,
		.lkey = g->side->target.lkey,
		.length = (uint32_t)p.bytes,
		.remote = g->out.remote + p.landing,
		.rkey = g->out.rkey,
	};
}

/*
 * How many pieces can be sent now: ready, within the depth, and of one chunk, so that the end of a
 * chunk is noticed.
 */
static uint64_t sendable(const struct ring *g)
{
	const uint64_t ready = MIN(g->total, g->pieces + g->received);
	const uint64_t end = MIN(ready, (g->posted / g->pieces + 1) * g->pieces);
	const size_t queues = g->out.flow.n_queues;
	uint64_t m = g->posted;

	while (m < end && g->under_way[queue_of(g, m)] + (m - g->posted) / queues < g->depth)
		m++;
	return m - g->posted;
}

/* Are so many worth a doorbell? More may follow only while others are under way. */
static bool is_batch(const struct ring *g, uint64_t n)
{
	const uint64_t batch = g->batch * g->out.flow.n_queues;

	return n >= batch || (g->posted + n) % g->pieces == 0 || g->posted - g->sent < batch;
}

/* Of the next `n` pieces, post those that belong to queue `q`, up to one doorbell's worth. */
static int post_by(struct ring *g, size_t q, uint64_t n, struct err *err)
{
	struct rdma_work work[RDMA_BATCH_MAX];
	unsigned count = 0;
	uint64_t m;
	int r;

	for (m = g->posted; m < g->posted + n; m++) {
		if (queue_of(g, m) == q)
			work[count++] = work_of(g, m);
	}
	if (count == 0)
		return 0;
	work[count - 1].signalled = true;
	for (m = 0; m < count; m++)
		work[m].id = (uint64_t)count << ID_BITS | q;
	r = ring_ops(g)->post(g->out.flow.queues[q], work, count, err);
	if (r == 0)
		g->under_way[q] += count;
	return r;
}

int ring_post_ready(struct ring *g, struct err *err)
{
	const uint64_t most = (uint64_t)g->batch * g->out.flow.n_queues;
	uint64_t n = sendable(g);
	int r = 0;

	while (r == 0 && n > 0 && is_batch(g, n)) {
		size_t q;

		n = MIN(n, most);
		for (q = 0; r == 0 && q < g->out.flow.n_queues; q++)
			r = post_by(g, q, n, err);
		g->posted += n;
		n = sendable(g);
	}
	return r;
}

/* What was posted did not arrive: blame the next rank, or the path to it. */
static void set_lost(struct ring *g, const struct rdma_done *done)
{
	CLEANUP(freep) char *words = rdma_done_words(done);
	struct coll_result *result = &g->coll.result;

	result->state = COLL_FAILED;
	result->suspect = (int)ring_next(g);
	(void)snprintf(result->why, sizeof(result->why),
		       "data sent by rank %u does not reach rank %u: %s", g->coll.first,
		       ring_next(g), words);
}

/* The first chunk waited for nobody, so its time is that of the link. */
static void time_first(struct ring *g)
{
	struct coll_rank *rank = &g->coll.result.ranks[0];

	if (rank->sent_bytes > 0 || g->sent < g->pieces)
		return;
	rank->sent_bytes = g->chunk;
	rank->sent_s = (double)(ring_now_ns(&g->coll) - rank->arrived_ns) / 1e9;
}

int ring_reap_sent(struct ring *g, struct err *err)
{
	struct rdma_done done[RDMA_BATCH_MAX];
	int n = ring_ops(g)->poll(g->out.flow.queues[0], done, ARRAY_SIZE(done), err), i;

	for (i = 0; i < n; i++) {
		if (done[i].status != RDMA_OK) {
			set_lost(g, &done[i]);
			return n;
		}
		g->under_way[done[i].id & ID_MASK] -= done[i].id >> ID_BITS;
		g->sent += done[i].id >> ID_BITS;
	}
	if (n > 0)
		time_first(g);
	return n;
}

/* --- receiving --- */

int ring_post_receives(struct ring *g, size_t q, unsigned n, struct err *err)
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
		r = ring_ops(g)->receive(g->in.flow.queues[q], receives,
					 MIN(n - i, (unsigned)RDMA_BATCH_MAX), err);
	return r;
}

int ring_reap_told(struct ring *g, struct err *err)
{
	struct rdma_done done[RDMA_BATCH_MAX];
	unsigned came[FLOW_QUEUES_MAX] = { 0 };
	int n = ring_ops(g)->poll(g->in.flow.queues[0], done, ARRAY_SIZE(done), err), i, r = 0;
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
		r = ring_post_receives(g, q, came[q], err);
	}
	return r < 0 ? r : n;
}

/* Compilers vectorise loops over blocks of constant length. */
static void add_up(float *restrict to, const float *restrict from, uint64_t n)
{
	uint64_t i;
	unsigned j;

	for (i = 0; i + ADDED_AT_ONCE <= n; i += ADDED_AT_ONCE) {
		for (j = 0; j < ADDED_AT_ONCE; j++)
			to[i + j] += from[i + j];
	}
	for (; i < n; i++)
		to[i] += from[i];
}

unsigned ring_take_in(struct ring *g)
{
	const uint64_t most = g->received + (uint64_t)g->batch * g->in.flow.n_queues;
	const uint64_t end = MIN(g->total, most), first = g->received;

	while (g->received < end && g->told[queue_of(g, g->received)] > 0) {
		const struct place p = place_of(g, ring_before(g), g->received);

		if (p.adds && g->adds)
			add_up((float *)(void *)(ring_buffer(g) + p.offset),
			       (const float *)(const void *)(ring_buffer(g) + p.landing),
			       p.bytes / sizeof(float));
		g->told[queue_of(g, g->received)]--;
		g->received++;
		g->taken_in.requests++;
		g->taken_in.bytes += p.bytes;
	}
	return (unsigned)(g->received - first);
}
