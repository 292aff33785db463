/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An all-to-all over RDMA on host memory: every rank writes to every other. This process has one or
 * more ranks, each on a port of its own. Two ranks share one connection for both directions.
 *
 * A rank sends from the source memory of its side and receives in the target memory. The block for
 * rank j is written to j's memory in pieces, alternating between peers, followed by a small send
 * that announces the block. So a rank is done when all its blocks are acknowledged and all peers
 * have announced theirs. Its own block does not move: get() reads it where put() left it.
 *
 * Repeated operations follow each other without a barrier, so a rank is as fast as its ports and
 * those of its peers.
 */
#pragma once

#include "probes/coll/coll.h"
#include "probes/rnic_pair/pair_lanes.h"

struct pair_side;

struct coll_exchange_want {
	unsigned n;		/* in all processes */
	unsigned first, n_here; /* in this process */
	unsigned mtu;		/* 0: the ports' default */
	unsigned depth;		/* outstanding pieces per peer */
};

/*
 * Make the connections of `want->n_here` ranks on open `sides` (borrowed for the lifetime of the
 * group), one side per rank; the buffer size is that of the smallest side. Ranks of this process
 * are connected to each other at once. -EINVAL: not 2 to COLL_RANKS_MAX ranks; otherwise as
 * pair_lanes_connect(), with the two ports in the message.
 */
int coll_exchange_open(const struct pair_side *sides, const struct coll_exchange_want *want,
		       struct coll **ret, struct err *err);

/* What rank `peer`, in another process, needs to know to connect to `rank` of this one. */
void coll_exchange_offer(const struct coll *c, unsigned rank, unsigned peer, struct pair_offer *ret);
int coll_exchange_connect(struct coll *c, unsigned rank, unsigned peer,
			  const struct pair_offer *offer, struct err *err);

/* The lanes of a rank of this process to a peer, for counting their traffic. Borrowed. */
const struct pair_lanes *coll_exchange_lanes(const struct coll *c, unsigned rank, unsigned peer);

/* The smallest packet size of all connections, in bytes. */
unsigned coll_exchange_mtu(const struct coll *c);
