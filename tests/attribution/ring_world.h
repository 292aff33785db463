/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings that a simulated job (job.h) would produce: each worker's communicators of the
 * replicas, the stages, the pipeline ends, all workers, and its tensor-parallel group. They have
 * realistic defects: GPU clocks with offset and drift, coarse timers, lost operations, timestamps
 * of later operations, evaluations between steps. The truth is kept beside them.
 */
#pragma once

#include "lib/ring/ring_late.h"
#include "tests/attribution/job.h"

enum { RING_WORLD_RINGS = 5 }; /* per worker, at most */

struct ring_world_options {
	double offset_ns;	/* standard deviation of GPU clock offsets */
	double drift;		/* standard deviation of GPU clock drifts; 1e-6 is 1 ppm */
	double host_offset_ns;	/* the same for the clocks of nodes */
	double host_drift;	/* the same for the clocks of nodes */
	uint64_t resolution_ns; /* of the GPU's timer; 0: 1 */
	double hop_ns;		/* by which the ends of one collective differ */
	double lost, bad;	/* fractions of all operations */
	int tensor_ops;		/* within each compute */
	int evaluate_every;	/* steps; 0: never */
	int evaluations;	/* all-reduces per evaluation */
	bool no_kernels;	/* the job's NCCL writes no kernel timestamps */
	int ends_cut;		/* steps at the start and end that `late_s` leaves out */
};

struct ring_world {
	struct ring_rank *ranks; /* [d + dp * p] */
	struct ring_view *views;
	struct ring_comm *comms;
	struct ring_op **ops;
	size_t n_ranks, n_ops;
	double *late_s; /* [rank]: true lateness in its replicas' reduce-scatters, as ring_late.late_s */
	size_t n_late; /* reduce-scatters of a communicator */
};

/* Simulates whole steps, back to back. */
struct ring_world *ring_world_new(const struct job *job, const struct ring_world_options *options);
void ring_world_free(struct ring_world *world);
DEFINE_CLEANUP(struct ring_world *, ring_world_free, ring_world_freep);

/* Returns how much slower than usual a good part computes: gamma distribution of shape 2.4,
 * standard deviation `spread`. */
double ring_world_silicon(const struct job *job, uint64_t part, double spread);

/* Gives each worker its own silicon; at most JOB_SLOW_MAX workers. */
void ring_world_spread(struct job *job, double spread);
