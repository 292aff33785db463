/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a job: its sizes, and which rank and node each worker is. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/* One (dp_rank, stage): a tensor-parallel group, of which one rank is recorded. */
struct trace_worker {
	int32_t rank; /* global rank; -1: not known yet */
	int32_t node; /* place in `nodes` once the job is closed */
};

/* The shape of a job. Zeroes are a job without a name, of size 0. */
struct trace_job {
	char *name;		       /* owned; NULL: none */
	uint32_t dp, pp, tp, vpp, dsp; /* sizes, from 1 */
	uint64_t world;		       /* dp * pp * tp * dsp */
	uint32_t microbatches;	       /* 0: not said */
	struct trace_worker *workers;  /* owned; [d * pp + stage] */
	char **names;		       /* owned; the node of each worker, NULL: not known yet */
	char **nodes; /* owned; their names once each, sorted; made by trace_job_close() */
	size_t n_nodes;
	bool named; /* all nodes were said, none is a guess by rank; set by trace_job_close() */
};

/*
 * Take the sizes in `job` (name, dp ... microbatches are set) and make its
 * workers, none of whose ranks and nodes is known. -EINVAL: a size is 0 or beyond
 * its limit, or world is not dp * pp * tp * dsp; -ENOMEM.
 */
int trace_job_open(struct trace_job *job, struct err *err);

/*
 * Say which rank and node (may be NULL: of rank / 8, as "n%03d") a worker is.
 * -EINVAL: outside the shape, said otherwise before, or no name of a node.
 */
int trace_job_place(struct trace_job *job, int64_t dp_rank, int64_t stage, int64_t rank,
		    const char *node, struct err *err);

/*
 * All is said: give workers without a node theirs and list the nodes. Called by
 * trace_build(). -EINVAL: a worker without a rank, or two with the same.
 */
int trace_job_close(struct trace_job *job, struct err *err);

/* A copy with memory of its own. -ENOMEM. */
int trace_job_copy(const struct trace_job *from, struct trace_job *to, struct err *err);

void trace_job_release(struct trace_job *job);
