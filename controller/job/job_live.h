/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates what is shown of jobs, and whom they blame, as time passes: a suspicion lapses, a host
 * reboots, a test ends. Jobs with suspects are judged again once a second, and as soon as a test of
 * any host is answered. The result is shown with the next commit; only once it is durable the actor
 * is told about the blames (actor_blame()), and the cluster about new suspects. Nothing is lost
 * with the controller: all is recomputed from the windows and what was shown.
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

/* Jobs with suspects are judged at least this often. */
#define JOB_LIVE_EVERY_US USEC_PER_SEC

/* Judged in one go, about 0.4 ms each; other events of the loop come in between. */
enum { JOB_LIVE_AT_ONCE = 16 };

/* Borrows `speeds` and `files`. */
struct job_live *job_live_new(struct service *s, struct job_speeds *speeds,
			      const struct trace_files *files);
void job_live_free(struct job_live *live);

/*
 * A window of the job has ended, `rejected` or not: update what is shown. Does nothing for an
 * unknown job.
 */
int job_live_show(struct job_live *live, int64_t job, bool rejected, struct err *err);

/* Before a commit: if a test was answered since the last round, include what jobs say now. */
void job_live_committing(struct job_live *live);

/* Nothing is uncommitted: tell the actor what is durable, and judge again what is due. */
void job_live_committed(struct job_live *live);

/* A person withdraws an investigation: as investigating_cancel(). Its requests are taken back once
 * that is durable. */
int job_live_cancel(struct job_live *live, int64_t investigation, const char *who,
		    const char *reason, json_t **ret, struct err *err);

/* A person asks for a diagnosis: as diagnosis_plan_begin(); -ENOENT: there is no such job. */
int job_live_diagnose(struct job_live *live, int64_t job, const struct diagnosis_ask *ask,
		      json_t **ret, struct err *err);

/* Investigations begun and ended since the start, by enum investigation_state; borrowed. */
const uint64_t *job_live_investigations(const struct job_live *live);

/* Everything since the last commit was rolled back, and the actor starts over. */
void job_live_failed(struct job_live *live);

/* Hosts acquitted by tests since the start, and the total time from suspicion to acquittal. */
struct job_live_counts {
	uint64_t acquittals, acquittal_us;
};
struct job_live_counts job_live_counts(const struct job_live *live);
