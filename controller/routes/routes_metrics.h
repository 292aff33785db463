/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics and /metrics/nodes: collected and encoded once, then served from memory for a while. */
#pragma once

struct call;

/* Handlers; `context` is the struct service. */
void routes_metrics_get(void *context, struct call *call);
void routes_metrics_get_nodes(void *context, struct call *call);
