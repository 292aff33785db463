/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of a simulated job: some steps of it are played operation by operation
 * (tests/attribution/job.h) at the speeds of its hosts, and attribution itself says whom that
 * blames. A worker is a host. Pure.
 *
 * Of almost all windows it is plain beforehand that nobody is blamed: hosts that are not clear of
 * the others (attribution/lottery.h) never are. job_window_may_blame() asks that alone, and takes a
 * thousandth of the time; its cuts are lower than those of attribution.
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
	double speeds[JOB_PLAN_HOSTS_MAX]; /* [d * pp + stage]: 1 is usual */
	double tested[JOB_PLAN_HOSTS_MAX]; /* likewise, by their own tests; 0: not known */
	struct silicon good;		   /* by the tests of all hosts; 0: not known */
	const char *own; /* how it slows itself: a name of tests/attribution/inject.h; NULL */
	uint64_t seed;
	double min_gain, share; /* what a suspect must reach, at least */
};

/* Who is blamed. */
struct job_window_suspect {
	size_t worker;
	int class; /* enum blame_class */
	bool identifiable;
	double share;
};

struct job_window_result {
	struct job_window_suspect list[SUSPECTS_MAX]; /* only those that count */
	size_t n;
	int class; /* enum blame_class: why it is slow */
	double slowdown;
};

bool job_window_may_blame(const struct job_window_case *of);
struct job_window_result job_window_find(const struct job_window_case *of);
