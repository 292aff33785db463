/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of the API, and what they share. `context` is the struct service. */
#pragma once

#include <jansson.h>

#include "lib/macro.h"

struct api_options;
struct call;
struct err;
struct store_page;
struct store_range;

/* The table of the API, into `options`. */
void routes_set(struct api_options *options);

/* Hosts (routes_nodes.c). */
void get_nodes(void *context, struct call *call);
void get_node(void *context, struct call *call);
void get_why(void *context, struct call *call);
void get_samples(void *context, struct call *call);
void get_verdicts(void *context, struct call *call);

/* The fleet (routes_fleet.c). */
void get_incidents(void *context, struct call *call);
void get_incident(void *context, struct call *call);
void get_baselines(void *context, struct call *call);
void get_drift(void *context, struct call *call);

/* What is held (routes_orders.c). */
void get_orders(void *context, struct call *call);

/* ?limit and ?cursor; false: they were bad, and the call is refused. */
bool range_of(struct call *call, struct store_range *ret);

/* Items of `all` from the cursor, which counts them, to the limit. */
struct store_page cut_page(const json_t *all, const struct store_range *range);

/* {"items", "next"}; empties the page. */
void reply_page(struct call *call, struct store_page *page);

/* 404 or 503 for what the store said. */
void refuse_store(struct call *call, int r, const struct err *err);
