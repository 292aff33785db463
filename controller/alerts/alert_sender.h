/* SPDX-License-Identifier: Apache-2.0 */
/* Interface for sending alerts to an Alertmanager, separate from HTTP. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/alerts/alert_book.h"
#include "lib/base/duration.h"

struct err;
struct sd_event;
struct settings_alertmanager;

/* Timeout of a post. */
#define ALERT_POST_US (10 * USEC_PER_SEC)

/* Result of a post. */
struct alert_sent {
	enum alert_result result;
	const char *why;	 /* a sentence unless accepted; borrowed */
	uint64_t retry_after_us; /* as requested by the Alertmanager; 0: none */
};
typedef void alert_sent_fn(void *context, const struct alert_sent *sent);

struct alert_sender {
	/* Is sending supported? -EINVAL with a sentence. */
	int (*check)(struct err *err);
	/* A sender to `to`, which is borrowed. */
	int (*open)(struct sd_event *loop, const struct settings_alertmanager *to, void **ret,
		    struct err *err);
	/*
	 * Post a JSON body (borrowed until then) and call `done` once, later. One at a time.
	 * Returns negative if it cannot start: `done` is not called.
	 */
	int (*post)(void *sender, const char *body, alert_sent_fn *done, void *context,
		    struct err *err);
	/* Cancels a post in flight. NULL is allowed. */
	void (*close)(void *sender);
};
