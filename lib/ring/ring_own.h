/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each rank of a job does by itself: the time between two of its operations, which is
 * computing and its host, and in which nobody else keeps it. It needs no clock but the GPU's own.
 *
 * Gaps of one kind (between the same two kinds of operations) are compared with those of the ranks
 * that do the same work: of the same stage. A rank's own time is the sum over kinds of its median,
 * as often as its peers have it; so single stalls, lost operations and evaluations are not in it.
 * A gap much longer than its kind usually is on this rank is a stall.
 *
 * Who knows the computing itself (a trace) gives that in place of gaps.
 *
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_clock.h"

enum {
	RING_OWN_GAPS_MIN = 5, /* of a kind, to have a median */
	RING_OWN_STALLS_MAX = 16,
};

struct ring_own {
	double seconds; /* its own, in the window; NAN where nothing was seen */
	double error;	/* one standard deviation of it, from how its gaps scatter */
	double excess;	/* what it has more than the median of its peers, a part of that; NAN */
};

struct ring_stall {
	uint32_t rank;
	uint64_t comm_id, seq; /* of the operation that came late; of a trace the gap's own */
	uint8_t func;
	double seconds; /* more than usual */
	uint64_t at_ns; /* on the rank's GPU: when it began at last */
};

/* Time in which a rank was by itself, and what came then. */
struct ring_gap {
	uint64_t kind; /* those of one are compared */
	double seconds;
	uint64_t comm_id, seq, at_ns; /* as in a stall */
	uint8_t func;
};

/* Of one rank. Borrowed, and sorted. */
struct ring_gaps {
	struct ring_gap *list;
	size_t n;
};

/*
 * `own` is [n_ranks], `stage` [n_ranks] says who has the same work. The longest stalls of at least
 * `stall_s` go to `stalls`, longest first; returns how many.
 */
size_t ring_own_find(const struct ring_rank *ranks, size_t n_ranks, const uint32_t *stage,
		     double stall_s, struct ring_own *own,
		     struct ring_stall stalls[static RING_OWN_STALLS_MAX]);

/* The same of gaps that are known: `gaps` is [n_ranks]. */
size_t ring_own_of_gaps(const struct ring_gaps *gaps, size_t n_ranks, const uint32_t *stage,
			double stall_s, struct ring_own *own,
			struct ring_stall stalls[static RING_OWN_STALLS_MAX]);
