/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a good host in place of each that a job blames would give the job, by its plan
 * (plan_facts.h): the small number that goes to the actor with the blame (lib/policy/blame.h). It
 * is made of the analysis of the newest window, once for each window and host. Where that is not
 * kept, cannot be read or says nothing of the host the gain is not known, and nothing else follows.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/blame.h"

struct trace_files;

/* Of one job: what its window `window` says. */
struct plan_gains_job {
	int64_t job, window;
	double gpus;   /* that it runs on */
	json_t *parts; /* owned: {host: part of a step, or null} */
};

/* Of the jobs that have suspects. Zero it before its first use. */
struct plan_gains {
	struct plan_gains_job *jobs;
	size_t n;
};

/* Know the gain of each of these hosts of the job, an array of names, by that window of it. */
void plan_gains_learn(struct plan_gains *gains, const struct trace_files *files, int64_t job,
		      int64_t window, const json_t *hosts);

struct blame_gain plan_gains_of(const struct plan_gains *gains, int64_t job, const char *host);

/* The job has no suspects any more. */
void plan_gains_forget(struct plan_gains *gains, int64_t job);
void plan_gains_release(struct plan_gains *gains);
