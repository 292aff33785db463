/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring over RDMA, on host or GPU memory, of which this process is one rank on one port. It writes
 * to the next rank and is written to by the previous one.
 *
 * All-reduce is the usual ring algorithm: n - 1 steps in which chunks are summed on their way, and
 * n - 1 in which the sums go round, so each rank sends 2 (n-1)/n of its buffer. Chunks go in
 * pieces, one write with immediate each, over the queue pairs in turn, so that pieces are added up
 * while others arrive.
 *
 * The cores cannot access GPU memory, and summing there would take a kernel, which would be
 * measured instead of the fabric. On GPU memory the ring therefore leaves out the sums
 * (COLL_PASS_ON): the same pieces take the same paths in the same order, each waiting for the one
 * before it.
 *
 * An operation ends at a rank only after the next rank has taken in everything it was sent, so the
 * memory of a step is never overwritten too early.
 *
 * Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations (JPDC
 * 2009).
 */
#pragma once

#include "probes/coll/coll.h"
#include "probes/rnic_pair/pair_lanes.h"

struct pair_side;

/* What the neighbours of a rank need to know about it. */
struct coll_offer {
	struct pair_offer next; /* for the next rank: the queues that will write to it */
	struct pair_offer before;
};

struct coll_ring_want {
	unsigned n, rank;
	unsigned mtu;	/* 0: the ports' default */
	unsigned depth; /* outstanding pieces per queue pair */
	unsigned qps;	/* to the next rank; the same at all ranks, as is `size` */
	uint32_t size;	/* bytes per piece; more if there would be too many pieces */
};

/*
 * Open queues on an open `side` (borrowed for the lifetime of the group). One half of its target
 * memory is the buffer, the other receives. -EINVAL: not 2 to COLL_RANKS_MAX ranks, or not 1 to
 * FLOW_QUEUES_MAX queue pairs.
 */
int coll_ring_open(const struct pair_side *side, const struct coll_ring_want *want,
		   struct coll **ret, struct err *err);

/* Fill in what the neighbours need. */
void coll_ring_offer(const struct coll *c, struct coll_offer *ret);

/*
 * Connect to the neighbours: `before` is the `next` offer of the previous rank, `next` the `before`
 * offer of the next rank. Errors as for pair_lanes_connect().
 */
int coll_ring_connect(struct coll *c, const struct pair_offer *before,
		      const struct pair_offer *next, struct err *err);

/* Packet size on the path to the next rank, in bytes. */
unsigned coll_ring_mtu(const struct coll *c);

/* Size of a piece for an operation of `bytes`. */
uint64_t coll_ring_piece(const struct coll *c, uint64_t bytes);

/* Totals since it was opened: pieces posted and pieces taken in. */
struct coll_ring_flows {
	struct rdma_posted out, in;
};
void coll_ring_flows(const struct coll *c, struct coll_ring_flows *ret);
