/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a job: what each way out would cost and gain, by its newest window, and what becomes
 * of it without some hosts. It is made when it is asked for and kept nowhere; nothing is done or
 * left undone for it: a host with fatal evidence goes whether there is a plan or not.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct err;
struct service;

enum {
	JOB_PLAN_WITHOUT_MAX = 64, /* hosts that are asked about */
	JOB_PLAN_WINDOWS_MAX = 64, /* windows of its run: how long it has been slow, and how fast */
	JOB_PLAN_LOOK_MAX = 512,   /* windows among which the run before is looked for */
};

#define JOB_PLAN_STEPS_MAX 1e12

struct job_plan_ask {
	const json_t *without; /* names; NULL: nobody asked */
	double remaining;      /* steps; NAN: not known */
};

/*
 * As the API shows it, new reference. A job of which no analysis is kept has no remedies, and
 * "reason" says why. -ENOENT: there is no such job.
 */
int job_plan(struct service *s, int64_t job, const struct job_plan_ask *ask, json_t **ret,
	     struct err *err);
