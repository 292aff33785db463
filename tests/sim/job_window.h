/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of a simulated job: some steps are simulated operation by operation
 * (tests/attribution/job.h) at the speeds of its hosts, and the real attribution blames hosts. A
 * worker is a host. Pure.
 *
 * Most windows clearly blame no host, because hosts that do not stand out from the others
 * (attribution/lottery.h) are never blamed. job_window_may_blame() checks only that, in a
 * thousandth of the time; its thresholds are lower than those of attribution.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "attribution/suspects.h"
#include "lib/base/macro.h"
#include "lib/judge/silicon.h"
#include "tests/sim/job_plan.h"

enum { JOB_WINDOW_STEPS = 20 };

struct job_window_case {
	int dp, pp;
	double speeds[JOB_PLAN_HOSTS_MAX]; /* [d * pp + stage]; 1 is usual */
	double tested[JOB_PLAN_HOSTS_MAX]; /* the same, from their own tests; 0: unknown */
	struct silicon good;		   /* from the tests of all hosts; 0: unknown */
	const char *own; /* its own slowdown, a name of tests/attribution/inject.h; or NULL */
	uint64_t seed;
	double min_gain, share; /* thresholds for a suspect */
};

/* A blamed worker. */
struct job_window_suspect {
	size_t worker;
	int class; /* enum blame_class */
	bool identifiable;
	double share;
};

struct job_window_result {
	struct job_window_suspect list[SUSPECTS_MAX]; /* only those above the thresholds */
	size_t n;
	int class; /* enum blame_class: why the job is slow */
	double slowdown;
};

bool job_window_may_blame(const struct job_window_case *of);
struct job_window_result job_window_find(const struct job_window_case *of);
