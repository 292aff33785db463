/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates one replica's pipeline in one step, from its schedule. */
#pragma once

#include "tests/attribution/job.h"

/* The next compute of a stage. */
struct slot {
	int work; /* enum work */
	int mc, mb, seq;
};

/*
 * Simulates the pipeline of replica `d`. `ready`[p * vpp + c] is when stage p has
 * the parameters of chunk c; `ret_end`[p] is set to when it is done. Returns the
 * number of operations written.
 */
size_t pipeline_play(const struct job *job, int step, int d, const int64_t *ready, int64_t *ret_end,
		     struct job_op *ops);

/* Durations, defined in job.c. */
int64_t job_compute_ns(const struct job *job, int step, int d, int p, const struct slot *slot);
int64_t job_transfer_ns(const struct job *job, int step, int d, int p, int work, int seq);
