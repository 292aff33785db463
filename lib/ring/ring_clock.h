/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of GPUs: each counts by itself (%globaltimer), from its own origin and slightly fast or
 * slow. The difference between two clocks is a line in time (ring_line.h), found in two ways:
 *
 * - from the clock of the host: of the delays with which the host heard that an operation had
 *   stopped, the least gives the difference, since no delay is negative;
 * - from the clocks of other ranks: a synchronising collective (all-reduce, all-gather,
 *   reduce-scatter, all-to-all) ends on all of its ranks together, up to the last hop. Broadcasts,
 *   reduces and sends do not: they end later the further they travel. What goes both ways between
 *   two ranks works too: half the difference of the delays there and back is the difference of the
 *   clocks.
 *
 * A timer of coarse resolution (1 ms on some systems) is refused: it would make everything look
 * fine. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_line.h"
#include "lib/ring/ring_op.h"

struct err;

enum {
	RING_CLOCK_OPS_MIN = 32,      /* collectives, or transfers in one direction */
	RING_CLOCK_RANKS_MAX = 4096,  /* ranks whose clocks are compared */
	RING_CLOCK_COARSE_NS = 50000, /* timers this coarse, or more, are refused */
	RING_CLOCK_IQR_NS = 50000,    /* ends that scatter more are not usable */
};

/* No crystal is off by more: 200 ppm. */
#define RING_CLOCK_SLOPE_MOST 200e-6

/* True if it has both GPU timestamps, and they are trusted. */
static inline bool ring_clock_has(const struct ring_op *op)
{
	return op->gpu_start_ns && op->gpu_stop_ns >= op->gpu_start_ns &&
	       !(op->flags & (RING_STAMP_BAD | RING_NO_GPU));
}

/* True if all of its ranks leave it together. */
bool ring_clock_synchronises(const struct ring_op *op);

/*
 * Resolution of the GPU's timer, from the timestamps of a process: the nanoseconds of which their
 * differences are multiples; single stray timestamps do not matter. 0: too few timestamps.
 */
uint64_t ring_clock_resolution(const struct ring_view *rings, size_t n);

/*
 * How far the host's CLOCK_MONOTONIC less `host_base` is ahead of the GPU's clock less `base`, in
 * ns, as a function of the latter. -ENODATA with a sentence: no timestamps of both, or a coarse
 * timer.
 */
int ring_clock_host(const struct ring_view *rings, size_t n, uint64_t base, uint64_t host_base,
		    struct ring_line *ret, struct err *err);

/* The rings of one rank of a job. */
struct ring_rank {
	const struct ring_view *rings;
	size_t n;
};

/*
 * How far the clock of each of `n_ranks` is ahead of that of a reference rank in the widest
 * communicator, in ns, as a function of the rank's own clock less `base`. If nothing connects a
 * rank with the others, its `known` is false and its line is 0. -ENODATA with a sentence: no ranks
 * are connected; -EDOM: the ends in a communicator scatter by more than RING_CLOCK_IQR_NS, or a
 * timer is coarse; -E2BIG.
 */
int ring_clock_ranks(const struct ring_rank *ranks, size_t n_ranks, uint64_t base,
		     struct ring_line *lines, bool *known, struct err *err);
