/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group over RDMA on host memory in which everybody writes to everybody: an
 * all-to-all. This process has one rank or more, each on a port of its own,
 * and two ranks have one connection, which carries both directions.
 *
 * A rank sends from the source memory of its side and receives in the target
 * memory. The block for rank j goes to j's memory in pieces, all peers in turn;
 * after the last one goes a small send that tells of the block. So a rank has
 * ended when all its blocks are acknowledged and all peers have told of theirs.
 * Its own block does not move: get() finds it where put() left it.
 *
 * Repeated, blocks follow each other without waiting for the others: a rank is
 * then as fast as its ports and those of its peers, not as what a barrier takes.
 */
#pragma once

#include "probes/coll/coll.h"
#include "probes/rnic_pair/pair_lanes.h"

struct pair_side;

struct coll_exchange_want {
	unsigned n;		/* ranks of all processes */
	unsigned first, n_here; /* those of this one */
	unsigned mtu;		/* 0: the ports' */
	unsigned depth;		/* pieces under way to each peer */
};

/*
 * Connections of `want->n_here` ranks on open `sides` (borrowed, as long as the group), one each;
 * their buffers are what the smallest of them has. Those between ranks of this process are made
 * at once. -EINVAL: not 2 to COLL_RANKS_MAX ranks; else as pair_lanes_connect(), with the two
 * ports in the sentence.
 */
int coll_exchange_open(const struct pair_side *sides, const struct coll_exchange_want *want,
		       struct coll **ret, struct err *err);

/* What rank `peer` of another process must know to connect to `rank` of this one. */
void coll_exchange_offer(const struct coll *c, unsigned rank, unsigned peer, struct pair_offer *ret);
int coll_exchange_connect(struct coll *c, unsigned rank, unsigned peer,
			  const struct pair_offer *offer, struct err *err);

/* The way of a rank of this process to a peer: for who counts what goes over it. Borrowed. */
const struct pair_lanes *coll_exchange_lanes(const struct coll *c, unsigned rank, unsigned peer);

/* The smallest packets among all ways, bytes. */
unsigned coll_exchange_mtu(const struct coll *c);
