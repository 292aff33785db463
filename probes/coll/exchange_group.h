/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the exchange only (verbs_exchange.c: the group; exchange_ways.c: what goes over its ways). */
#pragma once

#include "probes/coll/verbs_exchange.h"

enum {
	EXCHANGE_TOLD_BYTES = 8,    /* of the send that tells of a block */
	EXCHANGE_TOLD_ROOM = 64,    /* where they land, at the end of the source memory */
	EXCHANGE_WORK_OF_PIECE = 2, /* a write; and a send with the last one */
	/* A peer is one operation ahead at most, for it waits for our block of that one. */
	EXCHANGE_RECEIVES = 4,
	EXCHANGE_RETRIES = 7,
};

/* From a rank of this process to a peer, and back. */
struct way {
	struct pair_lanes lanes;
	uint64_t total; /* pieces to send in the operation */
	uint64_t posted, sent;
	bool awaits;   /* it has a block for us */
	uint64_t told; /* blocks that have come and were not waited for yet */
	bool failed;   /* `why`; it is of no more use */
	struct rdma_done why;
};

struct exchange {
	struct coll coll; /* first */
	const struct pair_side *sides;
	struct way *ways; /* n_here x n; that of a rank to itself is not used */
	unsigned depth;	  /* pieces under way to each peer */
	int error;	  /* of an operation that failed */
	/* The operation. */
	uint64_t block, piece; /* bytes */
	uint64_t pieces;       /* of a block */
	bool in_it[COLL_RANKS_MAX];
	uint64_t failed_ns; /* when the first way failed; 0: none has */
};

static inline struct exchange *exchange_of(struct coll *c)
{
	return (struct exchange *)c;
}

static inline const struct exchange *exchange_seen(const struct coll *c)
{
	return (const struct exchange *)c;
}

/* Of the i-th rank of this process to rank `peer`. */
static inline struct way *exchange_way(struct exchange *g, unsigned i, unsigned peer)
{
	return &g->ways[(size_t)i * g->coll.n + peer];
}

static inline const struct way *exchange_way_seen(const struct coll *c, unsigned i, unsigned peer)
{
	return &exchange_seen(c)->ways[(size_t)i * c->n + peer];
}

/* Blocks of this many bytes, in pieces. */
void exchange_cut(struct exchange *g, uint64_t block);

int exchange_post_receives(struct way *w, unsigned n, struct err *err);

/* Post what there is room for, all peers in turn. Errors of the engine. */
int exchange_post(struct exchange *g, struct err *err);

/*
 * Take in what has ended: how much. A block that does not get there makes the
 * operation a failed one; a negative errno is of this side.
 */
int exchange_reap(struct exchange *g, struct err *err);

/* All sent, and told of all that was awaited: which is then used up. */
bool exchange_has_ended(struct exchange *g, unsigned i);

/* Who has not sent what was waited for. */
void exchange_tell_late(struct exchange *g);

/* With its queues gone nothing of a device reads or writes the memory any more. */
void exchange_close_ways(struct exchange *g);
