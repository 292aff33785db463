/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rank's rings say of where it stands, as "groups", "positions" and "ops" of assay-hang/1
 * (docs/hangs.md).
 *
 * A group is one function of one communicator: "0a1b2c3d4e5f6071 AllReduce", and what comes before
 * the space is the communicator's id. NCCL numbers collectives by communicator *and* function, from
 * the communicator's begin, whether a profiler listens or not: these numbers compare between ranks
 * that were asked to record at different times, as the number of an operation in its ring does not,
 * nor any sum over functions of which one may not have been seen. They are the counts that NCCL's
 * RAS tells by function, less one. Sends and receives have no number: they are the group
 * "0a1b2c3d4e5f6071 P2P" with "p2p": true, and say their rank's place in it alone.
 *
 * Ranks that call different functions of a communicator each wait in a group in which the others
 * have not come: two groups of one id with ranks waiting in both are a mismatch, and no two ops of
 * a group ever differ in their function.
 *
 * Left out, for they would accuse somebody who did nothing:
 *  - positions of what began before recording was asked for: ranks stop recording at different
 *    operations;
 *  - positions of a function that was captured in a graph: whether NCCL counts those depends on who
 *    was recording;
 *  - what started or ended, where the plug-in does not record kernels (a version of NCCL with which
 *    that costs too much);
 *  - rings that do not say how many ranks their communicator has (version 3 of the interface).
 *
 * "ranks" of a group is null: members are known by their "place" alone, and who merges documents of
 * all hosts fills them in. An op's "peer" is a global rank where it is one of this host, else null;
 * "peer_place" is its place in the communicator. "count" is bytes.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_op.h"

enum {
	/* of a ring: the oldest that have not ended, and the last that began */
	RING_HANG_OPS_MAX = 8,
};

/* A ring, as it was read. */
struct ring_hang_ring {
	int64_t rank; /* global */
	const struct ring_comm *comm;
	const struct ring_op *ops; /* NULL: only who is in the communicator */
	size_t n_ops;
	uint64_t since_ns; /* it has been recorded without a break since (CLOCK_MONOTONIC); 0: it is
			      not */
};

/*
 * Add to `groups` (an array) and `ranks` (an array of objects with "rank"): a rank that is there
 * gets "ring" into its "sources", and "positions" and "ops" (each added to what is there); another
 * one is added. All rings are of one job and run.
 */
void ring_hang_add(const struct ring_hang_ring *rings, size_t n, uint64_t now_ns, json_t *groups,
		   json_t *ranks);

/*
 * When something last moved in a ring (CLOCK_MONOTONIC, never after `now_ns`; 0: nothing is known
 * of it), and whether something is in flight that began since it has been recorded.
 */
uint64_t ring_hang_moved_ns(const struct ring_hang_ring *ring, uint64_t now_ns, bool *ret_in_flight);
