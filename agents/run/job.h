/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One probe of a run, from its start to its samples and its one problem. The
 * runner (agents/run/runner.h) decides when a job starts and waits for its
 * descriptors; a job never blocks.
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
	uint64_t budget_us; /* as it was told */
	uint64_t kill_us;   /* monotonic: its supervisor kills it then, or was told to */
	bool aborting;	    /* was told to go because a job arrived */
	bool has_problem;
	struct problem problem; /* set when has_problem */
};

struct job_how {
	uint64_t deadline_us; /* of the whole run */
	bool run_busy;
	int lock_fd; /* of active probes; -1: not ours */
};

void job_init(struct job *job, const struct runner_probe *probe);
void job_release(struct job *job);

/* Start it. When that cannot be done it is done already, with a problem. */
void job_start(struct job *job, const struct job_how *how);

/* It will not be started: done, with this problem. */
void job_refuse(struct job *job, int code, const char *why);

/* What to wait for: `p` gets JOB_FDS entries (fd -1 where there is nothing). */
void job_poll(const struct job *job, struct pollfd *p);

/* Take what the descriptors brought (`p` as filled by poll()). */
void job_serve(struct job *job, const struct pollfd *p);

/* A job arrived: have it killed now, its samples become aborted. */
void job_abort(struct job *job);

/* Monotonic time at which its supervisor must be done at the latest. */
uint64_t job_overdue_us(const struct job *job);

/*
 * Add at most `share` of its samples, and its problem, to the report; they are
 * no longer its own. Samples left out are told in the problem.
 */
void job_deliver(struct job *job, size_t share, struct report *report);
