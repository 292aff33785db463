/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: traces that are sent, what is found in them, and what it comes to (docs/jobs.md).
 * Handlers of the API: `context` is the struct service.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct call;
struct err;
struct service;

/* POST /v1/traces: durable when it is answered, analysed afterwards. */
void routes_jobs_post_trace(void *context, struct call *call);

/* GET /v1/jobs, /v1/jobs/ID, and of its windows all, or what was found in one. */
void routes_jobs_list(void *context, struct call *call);
void routes_jobs_show(void *context, struct call *call);
void routes_jobs_windows(void *context, struct call *call);
void routes_jobs_window(void *context, struct call *call);

/* GET /v1/jobs/ID/plan (routes_plan.c). */
void routes_jobs_plan(void *context, struct call *call);

/* GET /v1/jobs/ID/ranks (routes_hang.c). */
void routes_jobs_ranks(void *context, struct call *call);

/* POST /v1/jobs/ID/diagnose (routes_diagnose.c): durable when it is answered. */
void routes_jobs_diagnose(void *context, struct call *call);

/* POST /v1/steps (routes_steps.c). */
void routes_jobs_post_steps(void *context, struct call *call);

/* ?job and ?run of what a job sends; the name is borrowed from the call. -EINVAL. */
int routes_jobs_of(const struct call *call, const char **ret_job, int64_t *ret_run, struct err *err);

/* May the caller send `what` ("traces") of the job? False, and the call is refused: no. */
bool routes_jobs_may_send(struct service *s, struct call *call, const char *job, const char *what);

/* The number of the job that the path names, "j12". -ENOENT: it names none. */
int routes_jobs_number(const struct call *call, int64_t *ret, struct err *err);
