/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replicas of a data-parallel job, each a pipeline of workers of different speed, and what a
 * step takes when micro-batches or layers are dealt to them otherwise. The time of a replica is
 * that of the exact 1F1B recurrence (pipe_1f1b.h), or of interleaved 1F1B where stages have several
 * chunks and micro-batches are a multiple of the stages; what a step of now takes beyond its
 * slowest replica is the same for all of it.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

enum {
	REPLICAS_WORKERS_MAX = 16384,	  /* dp * pp */
	REPLICAS_MICROBATCHES_MAX = 4096, /* of a replica */
	REPLICAS_WORK_MAX =
		1 << 21,       /* workers * chunks * micro-batches: 32 MiB while it is played */
	REPLICAS_DROP_MAX = 8, /* replicas that a job may be shrunk by */
};

/* All borrowed. Seconds of one micro-batch on a good worker of each stage, all its chunks. */
struct replicas {
	size_t dp, pp, microbatches;
	const double *forward_s, *backward_s; /* [pp] */
	const double *slowdown;		      /* [d * pp + stage], above 0: 1 is a good one */
	size_t layers; /* of a stage, of which each may take others; 0: none may */
	size_t chunks; /* of a stage, interleaved where there are several; 0 is 1 */
};

/* Is it within the limits above, with times and slowdowns that are above 0? */
bool replicas_ok(const struct replicas *r);

/* Seconds of each replica into ret_times[dp], and of the slowest. */
double replicas_times(const struct replicas *r, double *ret_times);

/*
 * Seconds of the slowest replica. Of the others only those are played that may be slower than the
 * slowest so far: none takes longer than one whose stages are all as slow as its slowest worker.
 */
double replicas_slowest(const struct replicas *r);

/* A step of now less its slowest replica; below 0 where the model does not fit. */
double replicas_fixed(const struct replicas *r, double step_s);

/*
 * Deal the micro-batches of a step so that the slowest replica is the least, each at least one:
 * exact, for one more micro-batch never takes a replica less. Of equals those that are slow now
 * take least. With `layers` each replica deals its layers first (layers.h), where that is faster.
 * ret_counts[dp]; the slowest in seconds.
 */
double replicas_deal(const struct replicas *r, bool layers, size_t *ret_counts);

/* The slowest replica when only the layers within each are dealt otherwise. */
double replicas_layers(const struct replicas *r);

/*
 * The slowest of those that go on when the replicas in `gone` stop and the others share their
 * micro-batches evenly: ceil(M * D / left) each, rounded up to a multiple of the stages where these
 * have several chunks. NAN when none is left.
 */
double replicas_without(const struct replicas *r, const bool *gone);

/* The same without the slowest ones, as many of at most REPLICAS_DROP_MAX as is best: ret_gone[dp],
 * their number in `ret_n`. NAN when there is one replica alone. */
double replicas_drop(const struct replicas *r, bool *ret_gone, size_t *ret_n);

/* The slowest replica when all stages had the same to do. */
double replicas_even(const struct replicas *r);
