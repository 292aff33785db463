/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a job: its sizes, and each worker's rank and node. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/* One (dp_rank, stage): a tensor-parallel group, of which one rank is recorded. */
struct trace_worker {
	int32_t rank; /* global rank; -1: unknown */
	int32_t node; /* index in `nodes`, once the job is closed */
};

/* Zero-initialized: a job without a name, of size 0. */
struct trace_job {
	char *name;		       /* owned; NULL: none */
	uint32_t dp, pp, tp, vpp, dsp; /* sizes, from 1 */
	uint64_t world;		       /* dp * pp * tp * dsp */
	uint32_t microbatches;	       /* 0: not given */
	struct trace_worker *workers;  /* owned; [d * pp + stage] */
	char **names;		       /* owned; node of each worker, NULL: unknown */
	char **nodes; /* owned; their distinct names, sorted; set by trace_job_close() */
	size_t n_nodes;
	bool named; /* all nodes were given, not guessed from ranks; set by trace_job_close() */
};

/*
 * Check the sizes in `job` (name, dp ... microbatches are set) and create its workers, with
 * unknown ranks and nodes. -EINVAL: a size is 0 or beyond its limit, or world is not dp * pp * tp
 * * dsp; -ENOMEM.
 */
int trace_job_open(struct trace_job *job, struct err *err);

/*
 * Set a worker's rank and node (may be NULL: derived from rank / 8, as "n%03d"). -EINVAL: outside
 * the shape, contradicts an earlier call, or not a valid node name.
 */
int trace_job_place(struct trace_job *job, int64_t dp_rank, int64_t stage, int64_t rank,
		    const char *node, struct err *err);

/*
 * Finish: derive the missing nodes and list all nodes. Called by trace_build(). -EINVAL: a worker
 * without a rank, or a duplicate rank.
 */
int trace_job_close(struct trace_job *job, struct err *err);

/* Deep copy. -ENOMEM. */
int trace_job_copy(const struct trace_job *from, struct trace_job *to, struct err *err);

void trace_job_release(struct trace_job *job);
