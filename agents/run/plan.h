/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run will start: the probes of a profile, or probes named one by one, with their programs
 * located and their budgets scaled to the run's.
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
	const char *absent[RUNNER_PROBES_MAX]; /* in this suite, but not in this build */
	size_t n_absent;
	uint64_t least_us[RUNNER_PROBES_MAX]; /* needed by probes[i]; 0: any budget will do */
	struct plan_brief {
		const char *name;
		uint64_t got_us, least_us; /* its share of the run, and what it needs */
		uint64_t run_us;	   /* the run budget with which it would get that */
	} brief[RUNNER_PROBES_MAX];	   /* left out for lack of time */
	size_t n_brief;
	bool active; /* any probe is */
};

/* Plan the probes of the named profile. -EINVAL if there is no such profile. */
int plan_profile(const struct profiles *profiles, const char *name, struct plan *ret,
		 struct err *err);

/*
 * Plan the named probes, each as `profile` runs it; if that is NULL, as the first profile that
 * has it does: quick, full, then the others in order. A probe of the suite that is in no profile
 * runs alone with PLAN_PROBE_BUDGET_US. -EINVAL for an unknown probe.
 */
int plan_probes(const struct profiles *profiles, const char *profile, const char *const *names,
		size_t n, struct plan *ret, struct err *err);

/*
 * Replace the arguments of the plan's only probe with these (borrowed). Its budget and the run's
 * become `budget_us`, unless that is 0.
 */
void plan_hand_on(struct plan *plan, char *const *args, uint64_t budget_us);

/*
 * Make the run end within `budget_us`. If that is shorter than the plan, every probe's budget
 * shrinks in proportion, so that each plans for the time it has. A probe whose share would be too
 * small is left out.
 */
void plan_fit(struct plan *plan, uint64_t budget_us);

/*
 * Add a problem for each probe that is not run: not-applicable if absent, set-up if its share is
 * too small.
 */
void plan_report_absent(const struct plan *plan, struct report *report);

void plan_release(struct plan *plan);
