/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one run will start: the probes of a profile, or those named one by one,
 * with their programs found and their budgets fitted to the run's.
 */
#pragma once

#include <stdint.h>

#include "agents/run/profiles.h"
#include "agents/run/runner.h"
#include "lib/base/macro.h"

struct err;
struct report;

/* Budget of a probe that no profile names. */
#define PLAN_PROBE_BUDGET_US UINT64_C(30000000)

struct plan {
	const char *profile; /* name; borrowed from `profiles` or static */
	uint64_t budget_us;  /* of the whole run */
	struct runner_probe probes[RUNNER_PROBES_MAX];
	char *paths[RUNNER_PROBES_MAX]; /* owned; probes[i].path is paths[i] */
	size_t n;
	const char *absent[RUNNER_PROBES_MAX]; /* of this suite, but not in this build */
	size_t n_absent;
	uint64_t least_us[RUNNER_PROBES_MAX]; /* of probes[i]; 0: any budget will do */
	struct plan_brief {
		const char *name;
		uint64_t got_us, least_us; /* its share of the run, and what it needs */
		uint64_t run_us;	   /* a run so long has that */
	} brief[RUNNER_PROBES_MAX];	   /* left out for want of time */
	size_t n_brief;
	bool active; /* any probe is */
};

/* The probes of the profile of that name. -EINVAL when there is none. */
int plan_profile(const struct profiles *profiles, const char *name, struct plan *ret,
		 struct err *err);

/*
 * The probes with these names, each as `profile` (or, when NULL, the first of
 * quick, full and the others in their order that has it) runs it. A probe
 * of the suite that no profile has runs alone with PLAN_PROBE_BUDGET_US.
 * -EINVAL for an unknown one.
 */
int plan_probes(const struct profiles *profiles, const char *profile, const char *const *names,
		size_t n, struct plan *ret, struct err *err);

/*
 * Hand these arguments (borrowed) to the one probe of the plan in place of those of its
 * profile; what it does then needs a budget of its own: the whole run's, unless that is 0.
 */
void plan_hand_on(struct plan *plan, char *const *args, uint64_t budget_us);

/*
 * Make the run end within `budget_us`: a shorter one shortens every probe's
 * budget in proportion, so that each still plans for the time it has. One
 * that could do nothing with its share is left out.
 */
void plan_fit(struct plan *plan, uint64_t budget_us);

/* Add a problem for each probe that is not run: not-applicable when absent, set-up when too brief. */
void plan_report_absent(const struct plan *plan, struct report *report);

void plan_release(struct plan *plan);
