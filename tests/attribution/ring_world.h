/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings that a job which never ran (job.h) would leave: each worker's communicators of the
 * replicas, the stages, the ends of the pipeline, all workers, and its tensor-parallel group, with
 * all that spoils them: clocks of GPUs that are off and drift, coarse timers, operations lost,
 * stamps of later works, evaluations between steps. What was true is beside it.
 */
#pragma once

#include "lib/ring/ring_late.h"
#include "tests/attribution/job.h"

enum { RING_WORLD_RINGS = 5 }; /* of a worker, at most */

struct ring_world_options {
	double offset_ns;	/* clocks of GPUs are off by so much, one standard deviation */
	double drift;		/* likewise: 1e-6 is 1 ppm */
	double host_offset_ns;	/* clocks of nodes */
	double host_drift;	/* likewise */
	uint64_t resolution_ns; /* of the GPU's timer; 0: 1 */
	double hop_ns;		/* ends of one collective differ by as much */
	double lost, bad;	/* parts of all operations */
	int tensor_ops;		/* within each compute */
	int evaluate_every;	/* steps; 0: never */
	int evaluations;	/* all-reduces of one */
	bool no_kernels;	/* the NCCL of the job stamps nothing */
	int ends_cut;		/* so many steps at the begin and end are not in `late_s` */
};

struct ring_world {
	struct ring_rank *ranks; /* [d + dp * p] */
	struct ring_view *views;
	struct ring_comm *comms;
	struct ring_op **ops;
	size_t n_ranks, n_ops;
	double *late_s; /* [rank]: by the truth, of its replicas' reduce-scatters, as ring_late.late_s */
	size_t n_late; /* reduce-scatters of a communicator */
};

/* Whole steps, one right after the other. */
struct ring_world *ring_world_new(const struct job *job, const struct ring_world_options *options);
void ring_world_free(struct ring_world *world);
DEFINE_CLEANUP(struct ring_world *, ring_world_free, ring_world_freep);

/* How much slower than usual a good part computes: gamma of shape 2.4, one standard deviation
 * `spread`. */
double ring_world_silicon(const struct job *job, uint64_t part, double spread);

/* Each worker of its own silicon; at most JOB_SLOW_MAX workers. */
void ring_world_spread(struct job *job, double spread);
