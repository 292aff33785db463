/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One probe of a run, from its start to its samples and at most one problem. The runner
 * (agents/run/runner.h) decides when a job starts and polls its descriptors; a job never blocks.
 */
#pragma once

#include <poll.h>
#include <stdint.h>

#include "agents/run/err_tail.h"
#include "agents/run/probe_output.h"
#include "agents/run/runner.h"
#include "agents/run/supervisor.h"
#include "lib/report/report.h"

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_DONE };

enum { JOB_FDS = 3 }; /* its supervisor, stdout, stderr */

struct job {
	const struct runner_probe *probe;
	enum job_state state;
	struct supervisor supervisor;
	int out_fd, err_fd; /* -1 when closed */
	struct probe_output output;
	struct err_tail err_tail;
	uint64_t budget_us; /* as passed to the probe */
	uint64_t kill_us;   /* monotonic: when the supervisor kills it, or was asked to */
	bool aborting;	    /* being killed because a job arrived */
	bool has_problem;
	struct problem problem; /* set when has_problem */
};

struct job_how {
	uint64_t deadline_us; /* of the whole run */
	bool run_busy;
	int lock_fd; /* lock of active probes; -1: not held */
};

void job_init(struct job *job, const struct runner_probe *probe);
void job_release(struct job *job);

/* Start the probe. If that fails, the job is done at once, with a problem. */
void job_start(struct job *job, const struct job_how *how);

/* Do not start it: the job is done, with this problem. */
void job_refuse(struct job *job, int code, const char *why);

/* Fill JOB_FDS entries of `p` for poll(); fd is -1 in those that are unused. */
void job_poll(const struct job *job, struct pollfd *p);

/* Handle the events in `p`, as filled by poll(). */
void job_serve(struct job *job, const struct pollfd *p);

/* A job arrived: kill the probe now; its samples become aborted. */
void job_abort(struct job *job);

/* Monotonic time by which its supervisor must have ended. */
uint64_t job_overdue_us(const struct job *job);

/*
 * Move at most `share` of its samples, and its problem, into the report. The problem says how
 * many samples were left out.
 */
void job_deliver(struct job *job, size_t share, struct report *report);
