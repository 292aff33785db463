/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How alerts come to an Alertmanager: the seam to HTTP, so that what is told is apart from how.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/alerts/alert_book.h"
#include "lib/base/duration.h"

struct err;
struct sd_event;
struct settings_alertmanager;

/* From the beginning of a post to its whole answer. */
#define ALERT_POST_US (10 * USEC_PER_SEC)

/* What came of a post. */
struct alert_sent {
	enum alert_result result;
	const char *why;	 /* a sentence unless it was taken; borrowed */
	uint64_t retry_after_us; /* as the Alertmanager asks for; 0: it does not */
};
typedef void alert_sent_fn(void *context, const struct alert_sent *sent);

struct alert_sender {
	/* Can it be done at all? -EINVAL with a sentence. */
	int (*check)(struct err *err);
	/* One that posts to `to`, which stays borrowed. */
	int (*open)(struct sd_event *loop, const struct settings_alertmanager *to, void **ret,
		    struct err *err);
	/*
	 * Post a JSON body (borrowed until then) and call `done` once, later. One at a time.
	 * Negative when it cannot even begin: `done` is not called.
	 */
	int (*post)(void *sender, const char *body, alert_sent_fn *done, void *context,
		    struct err *err);
	/* What is under way is forgotten. NULL is fine. */
	void (*close)(void *sender);
};
