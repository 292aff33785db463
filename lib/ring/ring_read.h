/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a ring (ring_layout.h) that any program may have written, and may be writing now: every
 * word is copied once, by an atomic load, and only the copy is checked and used. Invalid data are
 * dropped and counted. No value read decides what is read elsewhere, except the number of
 * operations, whose remainder selects a slot.
 *
 * The memory is RING_SIZE bytes, page-aligned. Pure: the time is a parameter, in nanoseconds of
 * CLOCK_MONOTONIC.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/ring/ring_op.h"

struct err;

enum {
	RING_READ_RANKS_MAX = 16384, /* of a communicator: as many as a job can have */
	RING_READ_TRIES = 3,	     /* attempts to copy a slot that is being written */
};

#define RING_READ_BYTES_MAX (UINT64_C(1) << 46)		    /* of an operation: 64 TiB */
#define RING_READ_LONGEST_NS (UINT64_C(86400) * 1000000000) /* from a start to its stop */
#define RING_READ_AHEAD_NS UINT64_C(1000000000) /* tolerated lead of a timestamp over `now_ns` */

/* Skipped slots, accumulated. */
struct ring_read_counts {
	uint64_t torn;	 /* being written at each attempt, or overwritten */
	uint64_t absurd; /* impossible contents */
};

/*
 * Owner and progress of a ring; n_ranks and n_nodes 0, rank -1 if unknown. -EPROTO with a sentence:
 * another version or other sizes, impossible ranks. A name that is not printable ASCII becomes "",
 * without an error.
 */
int ring_read_head(const void *memory, struct ring_comm *ret, struct err *err);

/*
 * Copies the operations from number `from` on, at most the last RING_SLOTS, in order; returns their
 * number. `ret` has room for RING_SLOTS; skipped slots are added to `counts`. An operation that has
 * not ended is returned again each time: its stops come later.
 */
size_t ring_read_ops(const void *memory, uint64_t from, uint64_t now_ns,
		     struct ring_op ret[static RING_SLOTS], struct ring_read_counts *counts);
