/* SPDX-License-Identifier: Apache-2.0 */
/* What goes round a ring, in pieces. For its group (verbs.c) only. */
#pragma once

#include "probes/coll/verbs.h"
#include "probes/rnic_pair/pair_side.h"

enum { RING_RECEIVES = 2048 /* pieces told of, and not yet looked at, at most */ };

struct ring {
	struct coll coll; /* first */
	const struct pair_side *side;
	struct pair_lanes out, in; /* to the next rank, from the one before */
	unsigned depth;		   /* pieces under way, of each queue */
	unsigned batch;		   /* of them, with one doorbell and one completion */
	uint64_t size;		   /* of a piece, as it is wanted */
	bool open;
	struct rdma_posted taken_in; /* since it is open */
	bool adds; /* what comes in the first steps; else it stays where it landed */
	/* The operation. Piece m goes by queue m modulo their number. */
	uint64_t chunk, piece; /* bytes */
	uint64_t pieces;       /* of a chunk */
	uint64_t total;	       /* that are sent, and received */
	uint64_t posted, sent, received;
	/* By queue: pieces posted and not ended; come, and not taken in. */
	uint64_t under_way[FLOW_QUEUES_MAX], told[FLOW_QUEUES_MAX];
};

static inline struct ring *ring_of(struct coll *c)
{
	return (struct ring *)c; /* it begins with it */
}

static inline const struct ring *ring_seen(const struct coll *c)
{
	return (const struct ring *)c;
}

static inline const struct rdma_ops *ring_ops(const struct ring *g)
{
	return g->side->engine->ops;
}

static inline char *ring_buffer(const struct ring *g)
{
	return g->side->target.at;
}

/* The ranks on both sides. */
static inline unsigned ring_before(const struct ring *g)
{
	return (g->coll.first + g->coll.n - 1) % g->coll.n;
}

static inline unsigned ring_next(const struct ring *g)
{
	return (g->coll.first + 1) % g->coll.n;
}

static inline uint64_t ring_now_ns(struct coll *c)
{
	return ring_ops(ring_of(c))->now_ns(ring_of(c)->side->engine);
}

/* Room on queue `q` to be told of `n` pieces more. */
int ring_post_receives(struct ring *g, size_t q, unsigned n, struct err *err);

/*
 * Send what can go: the first step has what the buffer holds, each later one what came in the step
 * before. Pieces go in batches while others are under way, and none waits for company when there
 * is less than a batch of them.
 */
int ring_post_ready(struct ring *g, struct err *err);

/* Look at what was sent (a failure is the operation's), or told: how much it was. */
int ring_reap_sent(struct ring *g, struct err *err);
int ring_reap_told(struct ring *g, struct err *err);

/*
 * Add up, or leave where it is, what came: a batch at most, so that what can be sent then does not
 * wait for all of it. How many pieces. Queues do not wait for each other: the next piece may come
 * after those behind it.
 */
unsigned ring_take_in(struct ring *g);
