/* SPDX-License-Identifier: Apache-2.0 */
/* One replica's pipeline in one step, from its schedule alone. */
#pragma once

#include "tests/attribution/job.h"

/* What a stage computes next. */
struct slot {
	int work; /* enum work */
	int mc, mb, seq;
};

/*
 * Play the pipeline of replica `d`: `ready`[p * vpp + c] is when a stage has the
 * parameters of chunk c, `ret_end`[p] becomes when it is done. Returns how many
 * operations were written.
 */
size_t pipeline_play(const struct job *job, int step, int d, const int64_t *ready, int64_t *ret_end,
		     struct job_op *ops);

/* How long things take; job.c knows. */
int64_t job_compute_ns(const struct job *job, int step, int d, int p, const struct slot *slot);
int64_t job_transfer_ns(const struct job *job, int step, int d, int p, int work, int seq);
