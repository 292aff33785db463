/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds links of a job that are slower than similar ones. Only the transfer counts, from when the
 * last rank has come: so a late rank makes no link slow. Units are communicators, for collectives,
 * and ordered pairs of ranks, for sends; similar ones have the same size, function and bytes. A
 * unit is slow if its median exceeds that of similar units by RING_LINKS_SLOW and by more than both
 * scatter; without enough similar units it cannot be judged.
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
	RING_LINKS_LIKE_MIN = 3,      /* units to compare with */
	RING_LINKS_TRANSFERS_MIN = 8, /* transfers of a unit */
};

#define RING_LINKS_SLOW 1.25

/* All ranks of a job, by global rank, with clocks from ring_clock_ranks() with this `base`. */
struct ring_job {
	const struct ring_rank *ranks;
	size_t n_ranks;
	uint64_t base;
	const struct ring_line *lines;
	const bool *known;
};

/* The time of an operation on the common clock: ns from `base`. */
double ring_links_ns(const struct ring_job *job, size_t rank, uint64_t stamp);

struct ring_slow_link {
	uint64_t comm_id;
	uint32_t from, to; /* ranks; UINT32_MAX: the whole communicator */
	uint8_t func;
	size_t n;
	double xfer_s, usual_s; /* median of its transfers, and of similar ones */
};

/* Duration of one transfer, as defined in ring_late.h. */
struct ring_transfer {
	uint64_t comm_id, bytes;
	uint32_t from, to; /* UINT32_MAX: the whole communicator */
	int32_t size;	   /* of the communicator */
	uint8_t func;
	double xfer_s;
};

/*
 * Finds what is slow among `transfers` of collectives; those of sends between stages are added
 * here. Reorders them. Slowest first; returns how many.
 */
size_t ring_links_find(const struct ring_job *job, const struct ring_transfer *transfers, size_t n,
		       struct ring_slow_link ret[static RING_LINKS_MAX]);
