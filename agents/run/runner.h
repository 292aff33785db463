/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs probes: passive ones at the same time, active ones one after another
 * under $RUN/active.lock. A probe gets a wall-clock budget and is killed with
 * every descendant at its end (and a grace of at most 250 ms, to finish what it
 * prints), or as soon as it passes a limit of what it may print. Whatever a
 * probe does costs one problem in the report, never the run.
 *
 * Each probe runs below a supervisor: a forked process of ours that is a child
 * subreaper, so that descendants which leave their process group or session
 * are still found (they become the supervisor's children) and killed by parentage.
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

/* What a live display is told. Called between events, never while blocked. */
struct runner_progress {
	const char *probe;	/* running now: one of the newest, or NULL at the end */
	size_t done, total;	/* probes */
	uint64_t probe_left_us; /* of that probe's budget */
	uint64_t run_left_us;	/* of the whole run's budget */
};

struct runner_options {
	const char *run_dir;   /* for the lock */
	uint64_t deadline_us;  /* of the whole run: no probe starts or lives past it */
	uint64_t lock_wait_us; /* how long to wait for the active lock; 0: not at all */
	bool run_busy;	       /* --busy=run is handed on */
	int stop_fd;	       /* readable: a job may have arrived; -1 none */
	/*
	 * Asked when stop_fd is readable (NULL: yes): has a job arrived? It must
	 * leave stop_fd unreadable when it says no. On yes active probes are
	 * killed at once and what they delivered is marked aborted.
	 */
	bool (*stop)(void *context);
	void *stop_context;
	void (*progress)(void *context, const struct runner_progress *p); /* or NULL */
	void *progress_context;
};

/*
 * Run the probes and add what they say to `report` (samples in the order of
 * the probes, problems likewise). Fails only when it could not run at all
 * (-EMFILE, -ENOMEM, ...); nothing a probe does makes it fail.
 */
int runner_run(const struct runner_probe *probes, size_t n, const struct runner_options *options,
	       struct report *report, struct err *err);
