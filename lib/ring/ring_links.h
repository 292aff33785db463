/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of a job that are slower than their like. What counts is the transfer alone, from when the
 * last of its ranks had come: so who is late makes no link slow. Units are communicators, for
 * collectives, and ordered pairs of ranks, for sends; like are those of one size, function and
 * bytes. A unit is slow when its median is longer than the median of its like by RING_LINKS_SLOW
 * and by more than both scatter; one without like, or with few, cannot be told.
 *
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_clock.h"

enum {
	RING_LINKS_MAX = 8,
	RING_LINKS_LIKE_MIN = 3,      /* units that one is compared among */
	RING_LINKS_TRANSFERS_MIN = 8, /* that a unit is known by */
};

#define RING_LINKS_SLOW 1.25

/* All ranks of a job, by global rank, with their clocks: of ring_clock_ranks() with this `base`. */
struct ring_job {
	const struct ring_rank *ranks;
	size_t n_ranks;
	uint64_t base;
	const struct ring_line *lines;
	const bool *known;
};

/* When an operation of a rank was, on the clock that all have: ns from `base`. */
double ring_links_ns(const struct ring_job *job, size_t rank, uint64_t stamp);

struct ring_slow_link {
	uint64_t comm_id;
	uint32_t from, to; /* ranks; UINT32_MAX: the whole communicator */
	uint8_t func;
	size_t n;
	double xfer_s, usual_s; /* median of its transfers, and of its like */
};

/* What one transfer took, as ring_late.h defines it. */
struct ring_transfer {
	uint64_t comm_id, bytes;
	uint32_t from, to; /* UINT32_MAX: all of the communicator */
	int32_t size;	   /* of it */
	uint8_t func;
	double xfer_s;
};

/*
 * Find what is slow among `transfers` of collectives, to which those of sends between stages are
 * added here; reorders. Slowest first; returns how many.
 */
size_t ring_links_find(const struct ring_job *job, const struct ring_transfer *transfers, size_t n,
		       struct ring_slow_link ret[static RING_LINKS_MAX]);
