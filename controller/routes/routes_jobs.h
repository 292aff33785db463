/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: traces received, and their findings (docs/jobs.md). Handlers of the API: `context` is the
 * struct service.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct call;
struct err;
struct service;

/* POST /v1/traces: durable when answered, analysed afterwards. */
void routes_jobs_post_trace(void *context, struct call *call);

/* GET /v1/jobs, /v1/jobs/ID, its windows, or the analysis of one. */
void routes_jobs_list(void *context, struct call *call);
void routes_jobs_show(void *context, struct call *call);
void routes_jobs_windows(void *context, struct call *call);
void routes_jobs_window(void *context, struct call *call);

/* GET /v1/jobs/ID/plan (routes_plan.c). */
void routes_jobs_plan(void *context, struct call *call);

/* GET /v1/jobs/ID/ranks (routes_hang.c). */
void routes_jobs_ranks(void *context, struct call *call);

/* POST /v1/jobs/ID/diagnose (routes_diagnose.c): durable when answered. */
void routes_jobs_diagnose(void *context, struct call *call);

/* POST /v1/steps (routes_steps.c). */
void routes_jobs_post_steps(void *context, struct call *call);

/* ?job and ?run of data sent by a job; the name is borrowed from the call. -EINVAL. */
int routes_jobs_of(const struct call *call, const char **ret_job, int64_t *ret_run, struct err *err);

/* May the caller send `what` ("traces") for the job? If false, the call was refused. */
bool routes_jobs_may_send(struct service *s, struct call *call, const char *job, const char *what);

/* The number of the job in the path, "j12". -ENOENT: none. */
int routes_jobs_number(const struct call *call, int64_t *ret, struct err *err);
