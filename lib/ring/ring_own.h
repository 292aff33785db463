/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each rank of a job does by itself: the time between two of its operations, which is
 * computing and host work, in which nobody else holds it up. Needs no clock but the GPU's own.
 *
 * Gaps of one kind (between the same two kinds of operations) are compared with those of ranks that
 * do the same work: of the same stage. A rank's own time is the sum of its median over kinds, each
 * as often as its peers have it, so single stalls, lost operations and evaluations do not count. A
 * gap much longer than this rank usually has for its kind is a stall.
 *
 * A source that knows the computing itself (a trace) passes that in place of gaps.
 *
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_clock.h"

enum {
	RING_OWN_GAPS_MIN = 5, /* of a kind, for a median */
	RING_OWN_STALLS_MAX = 16,
};

struct ring_own {
	double seconds; /* its own time, in the window; NAN if nothing was seen */
	double error;	/* one standard deviation of it, from the scatter of its gaps */
	double excess;	/* excess over the median of its peers, relative to that; NAN */
};

struct ring_stall {
	uint32_t rank;
	uint64_t comm_id, seq; /* of the operation that came late; for a trace the gap's own */
	uint8_t func;
	double seconds; /* beyond the usual time */
	uint64_t at_ns; /* on the rank's GPU: when it finally began */
};

/* Time in which a rank was by itself, and what followed. */
struct ring_gap {
	uint64_t kind; /* gaps of the same kind are compared */
	double seconds;
	uint64_t comm_id, seq, at_ns; /* as for a stall */
	uint8_t func;
};

/* Gaps of one rank. Borrowed, and sorted. */
struct ring_gaps {
	struct ring_gap *list;
	size_t n;
};

/*
 * `own` is [n_ranks]; `stage` [n_ranks] says who has the same work. `stalls` receives the longest
 * stalls of at least `stall_s`, longest first; returns how many.
 */
size_t ring_own_find(const struct ring_rank *ranks, size_t n_ranks, const uint32_t *stage,
		     double stall_s, struct ring_own *own,
		     struct ring_stall stalls[static RING_OWN_STALLS_MAX]);

/* The same for known gaps: `gaps` is [n_ranks]. */
size_t ring_own_of_gaps(const struct ring_gaps *gaps, size_t n_ranks, const uint32_t *stage,
			double stall_s, struct ring_own *own,
			struct ring_stall stalls[static RING_OWN_STALLS_MAX]);
