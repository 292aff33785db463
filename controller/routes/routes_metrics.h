/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics and /metrics/nodes: looked up, written once, and served again for a while. */
#pragma once

struct call;

/* Handlers; `context` is the struct service. */
void routes_metrics_get(void *context, struct call *call);
void routes_metrics_get_nodes(void *context, struct call *call);
