/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Investigations: what is done about the hosts that slow a job, and withdrawal by a person
 * (docs/jobs.md). Handlers of the API: `context` is the struct service.
 */
#pragma once

struct call;

/* GET /v1/investigations, /v1/investigations/ID. */
void routes_investigations_list(void *context, struct call *call);
void routes_investigations_show(void *context, struct call *call);

/* POST /v1/investigations/ID/cancel: durable when answered. */
void routes_investigations_cancel(void *context, struct call *call);
