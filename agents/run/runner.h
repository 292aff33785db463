/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs probes: passive ones in parallel, active ones one after another under $RUN/active.lock. A
 * probe has a wall-clock budget, plus a grace of at most 250 ms to finish its output. It is
 * killed with all its descendants when that ends, or as soon as its output exceeds a limit.
 * Whatever a probe does costs one problem in the report, never the run.
 *
 * Each probe runs below a supervisor: a forked process of ours that is a child subreaper.
 * Descendants that leave their process group or session become the supervisor's children and are
 * still found and killed.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/report/report.h"

struct err;

enum { RUNNER_PROBES_MAX = 64 };

struct runner_probe {
	const char *name;   /* "gemm", for problems and for the live line */
	const char *path;   /* of the program */
	char *const *args;  /* NULL-terminated, without argv[0]; --budget and --busy are added */
	uint64_t budget_us; /* wall clock */
	bool active;
};

/* Input of the live display. Called between events, never while blocked. */
struct runner_progress {
	const char *probe;	/* one of the newest running, or NULL at the end */
	size_t done, total;	/* probes */
	uint64_t probe_left_us; /* of that probe's budget */
	uint64_t run_left_us;	/* of the whole run's budget */
};

struct runner_options {
	const char *run_dir;   /* for the lock */
	uint64_t deadline_us;  /* of the whole run: no probe starts or lives past it */
	uint64_t lock_wait_us; /* how long to wait for the active lock; 0: do not wait */
	bool run_busy;	       /* pass --busy=run on to the probes */
	int stop_fd;	       /* readable: a job may have arrived; -1: none */
	/*
	 * Called when stop_fd is readable (NULL: always yes): has a job arrived? If not, it must
	 * leave stop_fd unreadable. If so, active probes are killed at once and their samples
	 * marked aborted.
	 */
	bool (*stop)(void *context);
	void *stop_context;
	void (*progress)(void *context, const struct runner_progress *p); /* or NULL */
	void *progress_context;
};

/*
 * Run the probes and add their samples and problems to `report`, in the order of the probes.
 * Fails only if it could not run at all (-EMFILE, -ENOMEM, ...); nothing that a probe does makes
 * it fail.
 */
int runner_run(const struct runner_probe *probes, size_t n, const struct runner_options *options,
	       struct report *report, struct err *err);
