/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of GPUs: each counts by itself (%globaltimer), from an origin of its own and a little
 * fast or slow. What one differs by from another is a line in time (ring_line.h), found in two
 * ways:
 *
 *  - from the clock of its host: of the delays with which the host heard that an operation had
 *    stopped the least one says the difference, as none is less than nothing;
 *  - from the clocks of other ranks: a collective that synchronises (all-reduce, all-gather,
 *    reduce-scatter, all-to-all) ends on all of its ranks together, up to the last hop. A
 * broadcast, a reduce, a send do not: they end later the further they went. What goes both ways
 * between two ranks does: half the difference of the delays there and back is that of the clocks.
 *
 * A timer of coarse resolution (1 ms on some set-ups) is refused: it would say that all is well.
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_line.h"
#include "lib/ring/ring_op.h"

struct err;

enum {
	RING_CLOCK_OPS_MIN = 32,      /* collectives, or transfers of a direction */
	RING_CLOCK_RANKS_MAX = 4096,  /* whose clocks are compared */
	RING_CLOCK_COARSE_NS = 50000, /* a timer of this resolution, or worse, is refused */
	RING_CLOCK_IQR_NS = 50000,    /* ends that scatter more say nothing */
};

/* No crystal is so wrong: 200 ppm. */
#define RING_CLOCK_SLOPE_MOST 200e-6

/* Has it both stamps of a GPU, and are they believed? */
static inline bool ring_clock_has(const struct ring_op *op)
{
	return op->gpu_start_ns && op->gpu_stop_ns >= op->gpu_start_ns &&
	       !(op->flags & (RING_STAMP_BAD | RING_NO_GPU));
}

/* Do all of its ranks leave it together? */
bool ring_clock_synchronises(const struct ring_op *op);

/*
 * How fine the GPU's timer is, from the stamps of a process: nanoseconds that their differences are
 * multiples of; single stamps that are none of the timer's do not hide it. 0: too few stamps.
 */
uint64_t ring_clock_resolution(const struct ring_view *rings, size_t n);

/*
 * What the host's CLOCK_MONOTONIC less `host_base` is ahead of the GPU's clock less `base`: ns,
 * over the latter. -ENODATA with a sentence: no stamps of both, or a coarse timer.
 */
int ring_clock_host(const struct ring_view *rings, size_t n, uint64_t base, uint64_t host_base,
		    struct ring_line *ret, struct err *err);

/* The rings of one rank of a job. */
struct ring_rank {
	const struct ring_view *rings;
	size_t n;
};

/*
 * How far the clock of each of `n_ranks` is ahead of that of one rank of the widest communicator: ns,
 * over the rank's own clock less `base`. `known` of a rank is false, and its line 0, where
 * nothing connects it with the others. -ENODATA with a sentence: nobody is connected with anybody;
 * -EDOM: the ends of one communicator scatter by more than RING_CLOCK_IQR_NS, or a timer is coarse;
 * -E2BIG.
 */
int ring_clock_ranks(const struct ring_rank *ranks, size_t n_ranks, uint64_t base,
		     struct ring_line *lines, bool *known, struct err *err);
