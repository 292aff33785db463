/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's part of jobs: traces come in, one at a time is analysed in a child process
 * (analysis.h), and what is found is kept with the job (job_live.h). Every step is in the store
 * before what follows from it: a controller that is killed goes on with the windows that are
 * queued, and each ends analysed, rejected or failed, with the reason.
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

/* Windows of one job: one a minute, of which some may come at once, as after an outage. */
#define JOB_WINDOW_EVERY_US USEC_PER_MIN
enum { JOB_WINDOWS_AT_ONCE = 4 };

extern const struct controller_part jobs_part;

/* A window in parts is rejected when they have not all come so long after the first. */
#define JOB_PARTS_US (2 * USEC_PER_MIN)

/* A window as it comes, or a part of one. All borrowed. */
struct jobs_window {
	const char *job;
	int64_t run;
	int64_t part, of;  /* the first is 1; 1 of 1: it comes whole */
	const void *bytes; /* the trace */
	size_t length;
	const char *meta;	    /* YAML of its shape, or NULL */
	uint64_t from_us, until_us; /* of its steps, by our clock; 0: nobody said */
	bool bound;		    /* who sends it may send traces of some jobs alone */
};

/* What became of it. */
struct jobs_queued {
	int64_t job, window;
	int state;	 /* enum window_state */
	bool known;	 /* the same trace had come before */
	int64_t came;	 /* parts of it, with this one */
	unsigned wait_s; /* with -EAGAIN: come again after so many seconds */
};

/* "research/llm-7": letters, digits and "._-/:@+=", at most JOB_NAME_MAX. */
bool jobs_name_ok(const char *name);

/*
 * Take a window: it is durable with the next commit. -EAGAIN: too soon after the one before of its
 * job, or too many are queued; -EEXIST: it does not fit the parts that have come; -E2BIG: they are
 * too large together; -EDQUOT: no room for another job; -EIO and others: it could not be
 * written, and the store has taken back all since the last commit.
 */
int jobs_take(struct service *s, const struct jobs_window *window, struct jobs_queued *ret,
	      struct err *err);

/* The job as the API shows it whole, new reference. -ENOENT. */
int jobs_show(struct service *s, int64_t job, json_t **ret, struct err *err);

/* What was found in a window, new memory. -ENOENT: there is none such; -ESTALE: it has gone, or is
 * not there yet. */
int jobs_analysis(struct service *s, int64_t job, int64_t window, char **ret_text, struct err *err);

/*
 * A person withdraws an investigation, durable with the next commit: `ret` is it as it is then, new
 * reference. 1: it was withdrawn so before; -ENOENT; -EALREADY: it is over.
 */
int jobs_cancel_investigation(struct service *s, int64_t id, const char *who, const char *reason,
			      json_t **ret, struct err *err);

/*
 * A person asks for the diagnosis of a job: as diagnosis_plan_begin() (diagnosis_plan.h). -ENOENT:
 * there is no such job.
 */
int jobs_diagnose(struct service *s, int64_t job, const struct diagnosis_ask *ask, json_t **ret,
		  struct err *err);

/* Since the start. */
struct jobs_counts {
	uint64_t windows[4]; /* by enum window_state: those that were queued, and how they ended */
	/* Those that were begun (INVESTIGATION_OPEN), and how they ended. */
	uint64_t investigations[INVESTIGATION_STATES];
	struct job_live_counts live;
};
struct jobs_counts jobs_counts(const struct service *s);
