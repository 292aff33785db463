/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a rank stands according to its rings, as "groups", "positions" and "ops" of assay-hang/1
 * (docs/hangs.md).
 *
 * A group is one function of one communicator: "0a1b2c3d4e5f6071 AllReduce", where the first word
 * is the communicator's id. NCCL numbers collectives per communicator *and* function, from the
 * creation of the communicator, whether a profiler is active or not. So these numbers can be
 * compared between ranks that started recording at different times, unlike the number of an
 * operation in its ring, or a sum over functions, one of which may have been missed. They are the
 * per-function counts of NCCL's RAS, minus one. Sends and receives are not numbered: they form the
 * group "0a1b2c3d4e5f6071 P2P" with "p2p": true, which only gives the rank's place.
 *
 * If ranks call different functions of a communicator, each waits in a group that the others have
 * not entered: two groups of one id with waiting ranks in both are a mismatch, and all ops of a
 * group have the same function.
 *
 * Left out, because they would blame the wrong rank:
 *  - positions of operations that began before recording was requested: ranks stop recording at
 *    different operations;
 *  - positions of a function captured in a graph: whether NCCL counts those depends on who was
 *    recording;
 *  - start and end where the plug-in does not record kernels (with NCCL versions where that costs
 * too much);
 *  - rings that do not tell the size of their communicator (version 3 of the interface).
 *
 * "ranks" of a group is null: members are known only by their "place", and the merge of the
 * documents of all hosts fills them in. An op's "peer" is a global rank if it is on this host, else
 * null; "peer_place" is its place in the communicator. "count" is in bytes.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_op.h"

enum {
	/* per ring: the oldest unfinished ones, and the last one started */
	RING_HANG_OPS_MAX = 8,
};

/* Contents of a ring. */
struct ring_hang_ring {
	int64_t rank; /* global */
	const struct ring_comm *comm;
	const struct ring_op *ops; /* NULL: only the communicator's membership */
	size_t n_ops;
	uint64_t since_ns; /* recorded without a gap since (CLOCK_MONOTONIC); 0: not recorded */
};

/*
 * Add to `groups` (an array) and `ranks` (an array of objects with "rank"). An existing rank gets
 * "ring" in its "sources", and more "positions" and "ops"; a new rank is appended. All rings are
 * of one job and run.
 */
void ring_hang_add(const struct ring_hang_ring *rings, size_t n, uint64_t now_ns, json_t *groups,
		   json_t *ranks);

/*
 * When something last happened in a ring (CLOCK_MONOTONIC, at most `now_ns`; 0: unknown).
 * `ret_in_flight`: is an operation in flight that began since recording started?
 */
uint64_t ring_hang_moved_ns(const struct ring_hang_ring *ring, uint64_t now_ns, bool *ret_in_flight);
