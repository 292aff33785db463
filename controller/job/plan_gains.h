/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job would gain from a good host in place of each one that it blames, according to its plan
 * (plan_facts.h): a number passed to the actor with the blame (lib/policy/blame.h). It is computed
 * from the analysis of the newest window, once per window and host. If that is gone, unreadable or
 * silent about the host, the gain is unknown, without further consequences.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/blame.h"

struct trace_files;

/* One job: the gains by its window `window`. */
struct plan_gains_job {
	int64_t job, window;
	double gpus;   /* number of GPUs it runs on */
	json_t *parts; /* owned: {host: share of a step, or null} */
};

/* For jobs with suspects. Zero it before first use. */
struct plan_gains {
	struct plan_gains_job *jobs;
	size_t n;
};

/* Compute the gain of each of these hosts of the job (an array of names) from that window. */
void plan_gains_learn(struct plan_gains *gains, const struct trace_files *files, int64_t job,
		      int64_t window, const json_t *hosts);

struct blame_gain plan_gains_of(const struct plan_gains *gains, int64_t job, const char *host);

/* The job has no suspects any more. */
void plan_gains_forget(struct plan_gains *gains, int64_t job);
void plan_gains_release(struct plan_gains *gains);
