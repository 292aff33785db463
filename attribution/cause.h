/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What slows a job, in labels: from the numbers of slowdown.h by fixed cuts. Those of
 * worker, stage and sequence lengths are of "Understanding Stragglers in Large Model
 * Training" (2505.05713), the others ours.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/slowdown.h"

enum cause_label {
	CAUSE_REJECTED, /* the trace does not add up: its times are not explained */
	CAUSE_NONE,	/* no straggling to speak of */
	CAUSE_WORKER,	/* some workers are slow */
	CAUSE_NODE,	/* they are one host */
	CAUSE_LINK,	/* their transfers are slow, not their computes */
	CAUSE_STAGE,	/* the last stage has more to do */
	CAUSE_SEQLEN,	/* sequences of different length */
	CAUSE_GC,	/* pauses of the interpreter */
	CAUSE_COMM,	/* communication as a whole */
	CAUSE_UNKNOWN,
	CAUSE_N,
};

/* A trace whose simulation is further than this from the recording is rejected. */
#define CAUSE_DISCREPANCY_MAX 0.05

struct cause {
	enum cause_label labels[CAUSE_N];
	size_t n_labels;
	enum cause_label primary;
	const struct guilty_set *guilty; /* in the slowdown: W, X or NULL */
};

/* Where the paper draws the line for a straggling job. */
#define CAUSE_STRAGGLING 1.1

/* A job whose S is below `min_slowdown` has CAUSE_NONE. */
struct cause cause_find(const struct trace *trace, const struct slowdown *slowdown,
			double min_slowdown);

/* "worker" */
const char *cause_name(enum cause_label label);

/* Is it one of its labels, the primary one or another? */
bool cause_has(const struct cause *cause, enum cause_label label);
