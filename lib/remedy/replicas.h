/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replicas of a data-parallel job, each a pipeline of workers of different speed, and the
 * duration of a step when micro-batches or layers are redistributed. A replica takes its exact
 * duration under 1F1B (pipe_1f1b.h), or under interleaved 1F1B if stages have several chunks and
 * micro-batches are a multiple of the stages; what the current step takes beyond its slowest
 * replica is assumed not to change.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

enum {
	REPLICAS_WORKERS_MAX = 16384,	  /* dp * pp */
	REPLICAS_MICROBATCHES_MAX = 4096, /* per replica */
	REPLICAS_WORK_MAX = 1 << 21,	  /* workers * chunks * micro-batches: 32 MiB to simulate */
	REPLICAS_DROP_MAX = 8,		  /* replicas by which a job may be shrunk */
};

/* All borrowed. Seconds per micro-batch on a good worker of each stage, all its chunks. */
struct replicas {
	size_t dp, pp, microbatches;
	const double *forward_s, *backward_s; /* [pp] */
	const double *slowdown;		      /* [d * pp + stage], above 0: 1 is good */
	size_t layers;			      /* per stage, may be redistributed; 0: may not */
	size_t chunks;			      /* per stage, interleaved if several; 0 is 1 */
};

/* True if within the limits above, with times and slowdowns above 0. */
bool replicas_ok(const struct replicas *r);

/* Seconds of each replica, into ret_times[dp]; returns the slowest. */
double replicas_times(const struct replicas *r, double *ret_times);

/*
 * Seconds of the slowest replica. Only replicas that may be slower than the slowest so far are
 * simulated: none takes longer than one whose stages are all as slow as its slowest worker.
 */
double replicas_slowest(const struct replicas *r);

/* The current step minus its slowest replica; negative if the model does not fit. */
double replicas_fixed(const struct replicas *r, double step_s);

/*
 * Distributes the micro-batches of a step, at least one per replica, so that the slowest replica
 * takes least. Exact, since one more micro-batch never makes a replica faster. Of equals, those
 * that are slow now take least. With `layers`, each replica first redistributes its layers
 * (layers.h) if that is faster. Fills ret_counts[dp]; returns the seconds of the slowest.
 */
double replicas_deal(const struct replicas *r, bool layers, size_t *ret_counts);

/* The slowest replica if only the layers within each are redistributed. */
double replicas_layers(const struct replicas *r);

/*
 * The slowest remaining replica if the replicas in `gone` stop and the others share their
 * micro-batches evenly: ceil(M * D / left) each, rounded up to a multiple of the stages if these
 * have several chunks. NAN if none is left.
 */
double replicas_without(const struct replicas *r, const bool *gone);

/*
 * The same without the slowest ones, the best number of them up to REPLICAS_DROP_MAX: ret_gone[dp],
 * and their number in `ret_n`. NAN if there is only one replica.
 */
double replicas_drop(const struct replicas *r, bool *ret_gone, size_t *ret_n);

/* The slowest replica if all stages had the same work. */
double replicas_even(const struct replicas *r);
