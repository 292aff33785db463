/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a ring. Only for its group (verbs.c). */
#pragma once

#include "probes/coll/verbs.h"
#include "probes/rnic_pair/pair_side.h"

enum { RING_RECEIVES = 2048 /* upper bound on pieces announced but not yet taken in */ };

struct ring {
	struct coll coll; /* first */
	const struct pair_side *side;
	struct pair_lanes out, in; /* to the next rank, from the previous one */
	unsigned depth;		   /* outstanding pieces per queue */
	unsigned batch;		   /* pieces per doorbell and completion */
	uint64_t size;		   /* desired size of a piece */
	bool open;
	struct rdma_posted taken_in; /* since it was opened */
	bool adds; /* add what arrives in the first steps, rather than leave it where it landed */
	/* The operation. Piece m uses queue m modulo the number of queues. */
	uint64_t chunk, piece; /* bytes */
	uint64_t pieces;       /* per chunk */
	uint64_t total;	       /* to send, and to receive */
	uint64_t posted, sent, received;
	/* By queue: pieces posted but not completed; pieces announced but not taken in. */
	uint64_t under_way[FLOW_QUEUES_MAX], told[FLOW_QUEUES_MAX];
};

static inline struct ring *ring_of(struct coll *c)
{
	return (struct ring *)c; /* it is the first member */
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

/* The neighbouring ranks. */
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

/* Post receives on queue `q` for `n` more announcements. */
int ring_post_receives(struct ring *g, size_t q, unsigned n, struct err *err);

/*
 * Send what can be sent: in the first step what the buffer holds, in each later step what arrived
 * in the previous one. Pieces go in batches while others are under way; if there is less than a
 * batch under way, they are sent at once.
 */
int ring_post_ready(struct ring *g, struct err *err);

/* Collect completions of sends (failures fail the operation) or announcements; their number. */
int ring_reap_sent(struct ring *g, struct err *err);
int ring_reap_told(struct ring *g, struct err *err);

/*
 * Add up what arrived, or leave it where it is; at most a batch, so that what becomes sendable does
 * not wait for the rest. Returns the number of pieces. Queues are independent of each other, so the
 * next piece may arrive after later ones.
 */
unsigned ring_take_in(struct ring *g);
