/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is shown of jobs, and what they say of hosts, as time passes: a suspicion lapses, a host
 * boots, a test ends. The jobs that have suspects are judged again once a second, and as soon as
 * a test of any host is answered; what comes of it is shown with the next commit, and only when
 * that is durable the actor is told what they say of hosts (actor_blame()), and the cluster of a
 * host that has become a suspect. Nothing of it is lost with the controller: it is made again of
 * the windows and of what was shown.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct diagnosis_ask;
struct err;
struct job_live;
struct job_speeds;
struct service;
struct trace_files;

/* Jobs that have suspects are judged at least so often. */
#define JOB_LIVE_EVERY_US USEC_PER_SEC

/* So many at once, some 0.4 ms each; whoever else waits for the loop comes between. */
enum { JOB_LIVE_AT_ONCE = 16 };

/* `speeds` and `files` stay borrowed. */
struct job_live *job_live_new(struct service *s, struct job_speeds *speeds,
			      const struct trace_files *files);
void job_live_free(struct job_live *live);

/*
 * A window of the job has ended, `rejected` or not: what it comes to is shown from now on. Of a job
 * that is not there nothing is.
 */
int job_live_show(struct job_live *live, int64_t job, bool rejected, struct err *err);

/* A commit is about to be: where a test was answered since the last round, with it goes what jobs
 * say now. */
void job_live_committing(struct job_live *live);

/* Nothing is uncommitted: tell the actor what is durable, and judge again what is due. */
void job_live_committed(struct job_live *live);

/* A person withdraws an investigation: as investigating_cancel(). What it asked for is taken back
 * once that is durable. */
int job_live_cancel(struct job_live *live, int64_t investigation, const char *who,
		    const char *reason, json_t **ret, struct err *err);

/* A person asks for a diagnosis: as diagnosis_plan_begin(); -ENOENT: there is no such job. */
int job_live_diagnose(struct job_live *live, int64_t job, const struct diagnosis_ask *ask,
		      json_t **ret, struct err *err);

/* How many were begun and how they ended since the start, by enum investigation_state; borrowed. */
const uint64_t *job_live_investigations(const struct job_live *live);

/* All since the last commit was taken back, and the actor begins anew. */
void job_live_failed(struct job_live *live);

/* Hosts that their tests acquitted, since the start, and how long that took from the suspicion on. */
struct job_live_counts {
	uint64_t acquittals, acquittal_us;
};
struct job_live_counts job_live_counts(const struct job_live *live);
