/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long polling for orders: GET /v1/nodes/NODE/orders?wait=S. The controller holds the request,
 * which shows it that this host is alive, and answers it when there is an order. The next request
 * follows immediately on the same connection, or with a backoff after a failure.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/orders.h"
#include "lib/base/backoff.h"
#include "lib/base/macro.h"

struct err;
struct http;
struct orders_link;
struct sd_event;

#define ORDERS_LINK_MARGIN_US UINT64_C(10000000) /* grace for the answer after the wait */
#define ORDERS_LINK_FIRST_US UINT64_C(1000000)	 /* wait of the first request after a failure */

enum { ORDERS_LINK_EARLY_MAX = 5 }; /* immediate answers in a row before we slow down */

struct orders_link_options {
	struct http *http; /* borrowed; must outlive the link */
	const char *url;   /* of the controller, without a trailing slash; copied */
	const char *node;  /* copied */
	uint64_t wait_us;  /* how long the controller holds a request without an order */
	struct backoff backoff;
	/* A new order, decoded and not seen before; borrowed. */
	void (*order)(void *context, const struct order *order);
	/* An invalid one, with only its id and kind, and the message of order_decode(). */
	void (*refused)(void *context, const struct order *order, const char *why);
	/* The controller became reachable or unreachable. */
	void (*changed)(void *context);
	void *context;
};

/* Sends the first request immediately. */
int orders_link_new(struct sd_event *event, const struct orders_link_options *options,
		    struct orders_link **ret, struct err *err);
void orders_link_free(struct orders_link *link);

/* Why the controller is unreachable: a sentence, or "" if it is reachable. Borrowed. */
const char *orders_link_trouble(const struct orders_link *link);
