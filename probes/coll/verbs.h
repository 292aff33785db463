/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group over RDMA, on memory of the host or of a GPU: a ring, of which this process is one rank
 * on one port. It writes to the next rank and is written to by the one before.
 *
 * All-reduce as a ring does it: n - 1 steps in which chunks are added up on
 * their way, n - 1 in which the sums go round; each rank sends 2 (n-1)/n of its
 * buffer. Chunks go in pieces, each a write of which the next rank is told, over
 * the queue pairs in turns: one is added up while others are on their way.
 *
 * No core reaches memory of a GPU, and to add up there takes a kernel of its own, which would be
 * measured instead of the fabric. There the ring does the same without the sums (COLL_PASS_ON): the
 * same pieces go the same ways in the same order, each waiting for the one before it.
 *
 * An operation ends at a rank only after the next one has added up all that
 * it was sent, so the memory of a step is never written to again too early.
 *
 * Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of
 * workstations (JPDC 2009).
 */
#pragma once

#include "probes/coll/coll.h"
#include "probes/rnic_pair/pair_lanes.h"

struct pair_side;

/* What the neighbours of a rank must know of it. */
struct coll_offer {
	struct pair_offer next; /* for the rank after it: whom it will be written to by */
	struct pair_offer before;
};

struct coll_ring_want {
	unsigned n, rank;
	unsigned mtu;	/* 0: the ports' */
	unsigned depth; /* pieces under way, of each queue pair */
	unsigned qps;	/* to the next rank; the same at all ranks, as is `size` */
	uint32_t size;	/* bytes of a piece; larger where there would be too many of them */
};

/*
 * Queues on an open `side` (borrowed, as long as the group), whose target memory is the buffer
 * and the room to receive: half of it each. -EINVAL: not 2 to COLL_RANKS_MAX ranks, not 1 to
 * FLOW_QUEUES_MAX queue pairs.
 */
int coll_ring_open(const struct pair_side *side, const struct coll_ring_want *want,
		   struct coll **ret, struct err *err);

/* Fill in what the neighbours need. */
void coll_ring_offer(const struct coll *c, struct coll_offer *ret);

/* With what the rank before offers to its next, and the next to the one before it. Errors as
 * pair_lanes_connect(). */
int coll_ring_connect(struct coll *c, const struct pair_offer *before,
		      const struct pair_offer *next, struct err *err);

/* The packets of the way to the next rank, bytes. */
unsigned coll_ring_mtu(const struct coll *c);

/* How large the pieces are of an operation of `bytes`. */
uint64_t coll_ring_piece(const struct coll *c, uint64_t bytes);

/* All that went through it since it is open: pieces that were posted, and taken in. */
struct coll_ring_flows {
	struct rdma_posted out, in;
};
void coll_ring_flows(const struct coll *c, struct coll_ring_flows *ret);
