/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan for a job: cost and gain of each remedy, from its newest window, and what becomes of it
 * without some hosts. It is computed on request and not stored, and nothing depends on it: a host
 * with fatal evidence is taken out with or without a plan.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct err;
struct service;

enum {
	JOB_PLAN_WITHOUT_MAX = 64, /* hosts asked about */
	JOB_PLAN_WINDOWS_MAX = 64, /* windows of its run: how long it has been slow, and its pace */
	JOB_PLAN_LOOK_MAX = 512,   /* windows searched for the previous run */
};

#define JOB_PLAN_STEPS_MAX 1e12

struct job_plan_ask {
	const json_t *without; /* names; NULL: not asked */
	double remaining;      /* steps; NAN: unknown */
};

/*
 * As shown by the API, new reference. A job without a stored analysis has no remedies, and "reason"
 * says why. -ENOENT: there is no such job.
 */
int job_plan(struct service *s, int64_t job, const struct job_plan_ask *ask, json_t **ret,
	     struct err *err);
