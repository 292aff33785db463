/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `jobs` of a policy (policy.h): when a slow job makes a host suspect, and what may
 * follow. Pure.
 *
 *	mode: observe | dry-run | enforce     min_gain, share
 *	windows: {k, n, steps, apart, fresh}
 *	ladder: {hosts, investigations: {n, per}, at_once}     retest_spacing
 *	born: {percent, below, per}
 *	busy: wait | drain | never     busy_limit     on_stop: tell | diagnose
 *	per_domain     restart_cost     over_evict: {hosts}
 *	acquit: {for, jobs, per}     trust: {least, of}
 *
 * All keys are optional. Strict like the rest of a policy: an unknown key, a wrong type, a number
 * out of range, or windows that can never be reached is an error that names the place.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/policy/policy_mode.h"

struct err;
struct jval;

enum {
	POLICY_JOBS_WINDOWS_MAX = 16, /* of windows.n */
	POLICY_JOBS_HOSTS_MAX = 4096, /* of one job */
};

/* Windows of a run are kept at one a minute (suspicion.h): windows.n of them must span less. */
#define POLICY_JOBS_SPAN_US (2 * USEC_PER_HOUR)

/* What to do if a suspect runs jobs. */
enum policy_jobs_busy {
	BUSY_WAIT,  /* wait until they have ended by themselves */
	BUSY_DRAIN, /* as policy.drain says, once the loss reaches restart_cost */
	BUSY_NEVER, /* do not test it for a job */
};
enum policy_jobs_stop { STOP_TELL, STOP_DIAGNOSE };

extern const char *const policy_jobs_busy_names[]; /* "wait" "drain" "never" */
extern const char *const policy_jobs_stop_names[]; /* "tell" "diagnose" */

struct policy_jobs {
	int mode;		       /* enum policy_mode; observe by default */
	double min_gain;	       /* of the step, lower bound: least cost of a set of hosts */
	double share;		       /* of the slowdown, the same */
	uint64_t windows_k, windows_n; /* K of the last N windows of a run blame it ... */
	uint64_t steps;		       /* ... each with at least this many steps */
	uint64_t apart_us;	       /* ... starting this far apart */
	uint64_t fresh_us;	       /* ... and the newest ended at most this long ago */
	uint64_t ladder_hosts;	       /* hosts of one job tested at once */
	uint64_t investigations, investigations_per_us; /* of one job */
	uint64_t at_once;				/* hosts tested for jobs, in all */
	uint64_t retest_spacing_us;			/* between tests that fail again */
	double born_percent,
		born_below; /* of a SKU's hosts, blamed for a part that was born so slow; 0: none */
	uint64_t born_per_us;
	int busy; /* enum policy_jobs_busy */
	uint64_t busy_limit_us;
	int on_stop;		   /* enum policy_jobs_stop: for a job that stands still */
	uint64_t per_domain;	   /* hosts of a rack under load at once */
	uint64_t restart_cost_us;  /* what a restart costs a job */
	uint64_t over_evict_hosts; /* held as groups: per group, and in all; 0: off */
	uint64_t acquit_us;	   /* how long an acquittal holds */
	uint64_t acquit_jobs,
		acquit_per_us; /* report an acquitted host if this many jobs accuse it */
	double trust_least;    /* a class with fewer correct predictions stops evicting */
	uint64_t trust_of;     /* of the last this many */
};

/* The built-in defaults. */
struct policy_jobs policy_jobs_init(void);

/* For J_CUSTOM: decodes into a struct policy_jobs. -EINVAL. */
int policy_jobs_decode(const struct jval *v, void *member, struct err *err);

/* The effective mode: the more cautious of its own and `mode`, the policy's effective one. */
int policy_jobs_mode(const struct policy_jobs *jobs, int mode);
