/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a ring (ring_layout.h) that anybody may have written, and may be writing: every word is
 * copied once, by an atomic load, and only the copy is checked and used. What does not hold is
 * dropped and counted; nothing that was read decides where something else is read, but the number
 * of operations, which decides a slot by its remainder.
 *
 * Memory is RING_SIZE bytes, aligned as a page is. Pure: the time is a parameter, in nanoseconds of
 * CLOCK_MONOTONIC.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/ring/ring_op.h"

struct err;

enum {
	RING_READ_RANKS_MAX = 16384, /* of a communicator: as many as a job has */
	RING_READ_TRIES = 3,	     /* a slot that is being written is copied so often */
};

#define RING_READ_BYTES_MAX (UINT64_C(1) << 46)		    /* of an operation: 64 TiB */
#define RING_READ_LONGEST_NS (UINT64_C(86400) * 1000000000) /* from a start to its stop */
#define RING_READ_AHEAD_NS UINT64_C(1000000000) /* a stamp after `now_ns` is tolerated so far */

/* Slots that were not taken, since zeroes. */
struct ring_read_counts {
	uint64_t torn;	 /* they were being written at each try, or had been written over */
	uint64_t absurd; /* they say what cannot be */
};

/*
 * Who it is of, and how far it is; n_ranks and n_nodes 0, rank -1 where that is not known. -EPROTO
 * with a sentence: of another version or sizes; ranks that cannot be; a name that is not of
 * printable ASCII is "" and no error.
 */
int ring_read_head(const void *memory, struct ring_comm *ret, struct err *err);

/*
 * Copy the operations from number `from` on, at most the last RING_SLOTS, in their order, and
 * return how many are in `ret`, which has room for RING_SLOTS. `counts` is added to. An operation
 * that has not ended is returned again as long as it is asked for: its stops come later.
 */
size_t ring_read_ops(const void *memory, uint64_t from, uint64_t now_ns,
		     struct ring_op ret[static RING_SLOTS], struct ring_read_counts *counts);
