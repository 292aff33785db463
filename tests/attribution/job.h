/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated training job: its pipeline (1F1B, or interleaved over model chunks)
 * is simulated operation by operation, in whole nanoseconds, with injected faults.
 * Deterministic by its seed.
 *
 * It is independent of how attribution finds dependencies: a compute waits for its
 * input, a receive is posted when the previous compute is done, a transfer begins
 * when both ends are ready, a collective when all members are, and the process
 * runs its other operations between two computes sequentially.
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

/* The operations of optrace/1, in any order. */
enum job_type {
	JOB_COMPUTE, /* + enum work for backward; so for the next two */
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
	int64_t start, end; /* nanoseconds since the start of the step */
};

/* A worker that computes slower by `factor` in steps `from` to `to`. */
struct job_slow {
	int d, p, from, to;
	double factor;
};

/* A delayed forward compute. */
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
	bool uneven;	   /* long-tailed sequence lengths */
	struct job_slow slow[JOB_SLOW_MAX];
	int n_slow;
	struct job_pause pauses[JOB_PAUSES_MAX];
	int n_pauses;
	int link_d, link_p; /* the replica and stage whose link p -> p + 1 flaps; -1: none */
	int link_work;	    /* enum work: BACKWARD is p + 1 -> p */
	int64_t link_ns;
	int64_t collective_ns; /* extra for reduce-scatters, in steps divisible by `slow_every` */
	int slow_every;
	bool together;	/* collectives end on all members at once, as in reality */
	int slow_group; /* stage whose replicas' collectives take group_ns more */
	int64_t group_ns;
	int64_t loading_ns; /* the first forward waits, without a recorded reason */
	int64_t skew_ns[JOB_NODES_MAX];
	struct job_op lost[JOB_DROPPED_MAX]; /* operations missing from the trace */
	int n_lost;
};

/* Rank and node of a worker: tensor ranks are adjacent, then replicas, then stages. */
int job_rank(const struct job *job, int d, int p);
int job_node(const struct job *job, int d, int p);

/* Returns an upper bound of the operations of a step. */
size_t job_ops_max(const struct job *job);

/* Simulates step number `step` (from 0). Returns the number of operations written. */
size_t job_play(const struct job *job, int step, struct job_op *ops);

/* Returns a number in [0, 1) that depends only on the seed and the arguments. */
double job_chance(const struct job *job, uint64_t a, uint64_t b, uint64_t c, uint64_t d);
