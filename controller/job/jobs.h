/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's part of jobs: receives traces, analyses them one at a time in a child process
 * (analysis.h), and stores the findings with the job (job_live.h). Every step is stored before its
 * consequences: after a kill the controller continues with the queued windows, and each ends
 * analysed, rejected or failed, with the reason.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/investigation.h"
#include "controller/job/job_live.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/report/rank_env.h"

struct controller_part;
struct diagnosis_ask;
struct err;
struct service;

enum { JOB_NAME_MAX = 253, JOB_RUN_MAX = RANK_ENV_RUN_MAX };

/* Rate limit for the windows of a job, with a burst, as after an outage. */
#define JOB_WINDOW_EVERY_US USEC_PER_MIN
enum { JOB_WINDOWS_AT_ONCE = 4 };

extern const struct controller_part jobs_part;

/* A window is rejected if not all of its parts arrive within this time after the first. */
#define JOB_PARTS_US (2 * USEC_PER_MIN)

/* A window, or a part of one, as received. All borrowed. */
struct jobs_window {
	const char *job;
	int64_t run;
	int64_t part, of;  /* the first is 1; 1 of 1: the whole window */
	const void *bytes; /* the trace */
	size_t length;
	const char *meta;	    /* YAML with the job's shape, or NULL */
	uint64_t from_us, until_us; /* of its steps, by our clock; 0: unknown */
	bool bound;		    /* the sender may send traces of certain jobs only */
};

/* Result of jobs_take(). */
struct jobs_queued {
	int64_t job, window;
	int state;	 /* enum window_state */
	bool known;	 /* the same trace was received before */
	int64_t came;	 /* parts received, including this one */
	unsigned wait_s; /* with -EAGAIN: retry after this time */
};

/* "research/llm-7": letters, digits and "._-/:@+=", at most JOB_NAME_MAX. */
bool jobs_name_ok(const char *name);

/*
 * Take a window: durable with the next commit. -EAGAIN: too soon after the job's previous one, or
 * the queue is full; -EEXIST: it does not fit the parts received; -E2BIG: the parts are too large
 * together; -EDQUOT: no room for another job; -EIO and others: it could not be written, and the
 * store has rolled back everything since the last commit.
 */
int jobs_take(struct service *s, const struct jobs_window *window, struct jobs_queued *ret,
	      struct err *err);

/* The job with all details as shown by the API, new reference. -ENOENT. */
int jobs_show(struct service *s, int64_t job, json_t **ret, struct err *err);

/* The analysis of a window, new memory. -ENOENT: no such window; -ESTALE: its analysis is gone, or
 * not there yet. */
int jobs_analysis(struct service *s, int64_t job, int64_t window, char **ret_text, struct err *err);

/*
 * A person withdraws an investigation, durable with the next commit: `ret` is its new state, new
 * reference. Returns 1 if it was withdrawn before; -ENOENT; -EALREADY if it is over.
 */
int jobs_cancel_investigation(struct service *s, int64_t id, const char *who, const char *reason,
			      json_t **ret, struct err *err);

/*
 * A person asks for the diagnosis of a job: as diagnosis_plan_begin() (diagnosis_plan.h). -ENOENT:
 * there is no such job.
 */
int jobs_diagnose(struct service *s, int64_t job, const struct diagnosis_ask *ask, json_t **ret,
		  struct err *err);

/* Counters since the start. */
struct jobs_counts {
	uint64_t windows[4]; /* by enum window_state: queued, and how they ended */
	/* Begun (INVESTIGATION_OPEN), and how they ended. */
	uint64_t investigations[INVESTIGATION_STATES];
	struct job_live_counts live;
};
struct jobs_counts jobs_counts(const struct service *s);
