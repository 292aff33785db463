/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The held request: GET /v1/nodes/NODE/orders?wait=S. While it is held the
 * controller knows that this host lives, and answers it when there is an
 * order. After an answer the next request follows at once on the same
 * connection; after a failure with a backoff.
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

#define ORDERS_LINK_MARGIN_US UINT64_C(10000000) /* an answer this late is lost */
#define ORDERS_LINK_FIRST_US UINT64_C(1000000)	 /* held this long after a silence */

enum { ORDERS_LINK_EARLY_MAX = 5 }; /* answers that were not held, in a row, before we slow down */

struct orders_link_options {
	struct http *http; /* borrowed, outlives the link */
	const char *url;   /* of the controller, without a slash at its end; copied */
	const char *node;  /* copied */
	uint64_t wait_us;  /* how long the controller holds a request without an order */
	struct backoff backoff;
	/* An order, decoded and not seen before; borrowed. */
	void (*order)(void *context, const struct order *order);
	/* One that is refused, with its id and kind alone, and the words of order_decode(). */
	void (*refused)(void *context, const struct order *order, const char *why);
	/* The controller answers again, or does not any more. */
	void (*changed)(void *context);
	void *context;
};

/* Begins at once. */
int orders_link_new(struct sd_event *event, const struct orders_link_options *options,
		    struct orders_link **ret, struct err *err);
void orders_link_free(struct orders_link *link);

/* Why the controller is not heard of: a sentence, "" while it is. Borrowed. */
const char *orders_link_trouble(const struct orders_link *link);
