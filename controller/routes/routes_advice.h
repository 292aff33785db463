/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice to whoever started a job (controller/job/job_advice.h). Handlers of the API: `context` is
 * the struct service.
 */
#pragma once

#include "lib/base/macro.h"

struct call;
struct service;

/* GET /v1/jobs/ID/advice?wait=60&after=N: the newest above N, within so many seconds; else 204. */
void routes_advice_get(void *context, struct call *call);

/* POST /v1/jobs/ID/advice {"id"}: acknowledge it. */
void routes_advice_post(void *context, struct call *call);

/* There is new advice: answer those waiting for it. */
void routes_advice_wake(struct service *s);
