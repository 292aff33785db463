/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a simulated fleet, and the error rates of their windows: docs/sim.md. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	JOB_PLAN_MAX = 1024,	 /* jobs */
	JOB_PLAN_HOSTS_MAX = 64, /* per job */
	JOB_PLAN_HOSTS_MIN = 8,
};

struct job_plan {
	uint64_t count;	      /* 0: none, and hosts are blamed as their faults say */
	uint64_t least, most; /* hosts per job */
	uint64_t every_us;    /* between its windows */
	uint64_t run_us;      /* approximate duration of a run */
	uint64_t rest_us;     /* between two runs */
	double move;	      /* probability that a host is replaced in the next run */
	double stale; /* ... that the first hour of a run uses the placement of the previous one */
	double lie;   /* ... that the sender of a run's traces forges a suspect */
	double boot;  /* ... that a host reboots after a run */
	double own;   /* ... that a run slows itself */
	double pair;  /* ... that a run gets two hosts with a slow fault */
	double dip;   /* ... that a host is 5 to 15 % slow for one window */
};

struct job_plan job_plan_init(void);

/* Decodes into a struct job_plan; for J_CUSTOM. Returns -EINVAL on error. */
int job_plan_decode(const struct jval *v, void *member, struct err *err);
