/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels what slows a job, from the numbers of slowdown.h, by fixed thresholds. Those of worker,
 * stage and sequence lengths are from "Understanding Stragglers in Large Model Training"
 * (2505.05713), the others are ours.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/slowdown.h"

enum cause_label {
	CAUSE_REJECTED, /* the trace is inconsistent: its simulation does not reproduce it */
	CAUSE_NONE,	/* no significant straggling */
	CAUSE_WORKER,	/* some workers are slow */
	CAUSE_NODE,	/* which are one host */
	CAUSE_LINK,	/* their transfers are slow, not their computes */
	CAUSE_STAGE,	/* the last stage has more work */
	CAUSE_SEQLEN,	/* varying sequence lengths */
	CAUSE_GC,	/* pauses of the interpreter */
	CAUSE_COMM,	/* communication as a whole */
	CAUSE_UNKNOWN,
	CAUSE_N,
};

/* A trace whose simulation deviates more than this from the recording is rejected. */
#define CAUSE_DISCREPANCY_MAX 0.05

struct cause {
	enum cause_label labels[CAUSE_N];
	size_t n_labels;
	enum cause_label primary;
	const struct guilty_set *guilty; /* W or X in the slowdown, or NULL */
};

/* The paper's threshold for a straggling job. */
#define CAUSE_STRAGGLING 1.1

/* A job whose S is below `min_slowdown` gets CAUSE_NONE. */
struct cause cause_find(const struct trace *trace, const struct slowdown *slowdown,
			double min_slowdown);

/* "worker" */
const char *cause_name(enum cause_label label);

/* Does the cause have this label, primary or not? */
bool cause_has(const struct cause *cause, enum cause_label label);
