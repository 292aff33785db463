/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training job that never ran: its pipeline (1F1B, or interleaved over model
 * chunks) is played in whole nanoseconds, operation by operation, with what is
 * wrong with it put in. Deterministic by its seed.
 *
 * It knows nothing of how attribution finds dependencies: a compute waits for its
 * input, a receive is posted when the compute before is done, a transfer begins
 * when both ends are there, a collective when all are, and what the process does
 * between two computes is one after the other.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum {
	JOB_NODES_MAX = 4096,
	JOB_PAUSES_MAX = 64,
	JOB_DROPPED_MAX = 8,
	JOB_SLOW_MAX = 64,
	MS = 1000000, /* nanoseconds */
};

enum work { FORWARD, BACKWARD };

/* The operations of optrace/1, in whatever order. */
enum job_type {
	JOB_COMPUTE, /* and backward-compute: + enum work, as the next two */
	JOB_SEND = JOB_COMPUTE + 2,
	JOB_RECV = JOB_SEND + 2,
	JOB_ALL_GATHER = JOB_RECV + 2,
	JOB_REDUCE_SCATTER,
	JOB_LAYERNORM,
	JOB_EMBEDDING,
	JOB_CLIP,
	JOB_OPTIMIZER,
	JOB_GC,
	JOB_TYPES,
};

struct job_op {
	int step, d, p, type, seq, mb, mc;
	int64_t start, end; /* nanoseconds from the begin of the step */
};

/* A worker that computes slower by `factor` in steps from..to. */
struct job_slow {
	int d, p, from, to;
	double factor;
};

/* A forward that is held up. */
struct job_pause {
	int step, d, p, mb;
	int64_t ns;
};

struct job {
	int dp, pp, mb, vpp, tp, steps;
	int first_step, step_gap; /* steps are sampled: 20, 23, 26 ... */
	uint64_t seed;
	double forward_ns, backward_ns, noise; /* of one chunk; noise: relative */
	double transfer_ns;

	double last_stage; /* factor */
	bool uneven;	   /* sequences of long-tailed lengths */
	struct job_slow slow[JOB_SLOW_MAX];
	int n_slow;
	struct job_pause pauses[JOB_PAUSES_MAX];
	int n_pauses;
	int link_d, link_p; /* -1, or the transfers p -> p + 1 of a replica flap */
	int link_work;	    /* enum work: BACKWARD is p + 1 -> p */
	int64_t link_ns;
	int64_t collective_ns; /* of reduce-scatters, in steps that `slow_every` divides */
	int slow_every;
	bool together;	/* collectives end on all members at once, as they do on real ones */
	int slow_group; /* stage whose replicas' collectives take group_ns more */
	int64_t group_ns;
	int64_t loading_ns; /* the first forward waits, and nothing says for what */
	int64_t skew_ns[JOB_NODES_MAX];
	struct job_op lost[JOB_DROPPED_MAX]; /* operations that nobody recorded */
	int n_lost;
};

/* Rank and node of a worker: tensor ranks beside each other, then replicas, then stages. */
int job_rank(const struct job *job, int d, int p);
int job_node(const struct job *job, int d, int p);

/* Most operations that a step has. */
size_t job_ops_max(const struct job *job);

/* Play step number `step` (from 0); returns the operations written. */
size_t job_play(const struct job *job, int step, struct job_op *ops);

/* A number in [0, 1) that depends on the seed and the place alone. */
double job_chance(const struct job *job, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
