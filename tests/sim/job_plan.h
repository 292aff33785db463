/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs a simulated fleet runs, and how much of what is said of them is wrong: docs/sim.md. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	JOB_PLAN_MAX = 1024,	 /* jobs */
	JOB_PLAN_HOSTS_MAX = 64, /* of one job */
	JOB_PLAN_HOSTS_MIN = 8,
};

struct job_plan {
	uint64_t count;	      /* 0: none, and hosts are blamed as their faults say */
	uint64_t least, most; /* hosts of a job */
	uint64_t every_us;    /* between its windows */
	uint64_t run_us;      /* a run lasts about so long */
	uint64_t rest_us;     /* between two runs */
	double move;	      /* chance that a host is another one in the next run */
	double stale; /* ... that the first hour of a run is known by the places of the run before */
	double lie;   /* ... that who sends the traces of a run forges a suspect */
	double boot;  /* ... that a host boots when a run leaves it */
	double own;   /* ... that a run slows itself */
	double pair;  /* ... that a run gets two hosts that are slow by a fault */
	double dip;   /* ... that a host is 5 to 15 % slow for one window */
};

struct job_plan job_plan_init(void);

/* Into a struct job_plan: for J_CUSTOM. -EINVAL. */
int job_plan_decode(const struct jval *v, void *member, struct err *err);
