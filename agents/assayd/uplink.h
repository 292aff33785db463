/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spool -> controller: reports leave in the order of their numbers, one call
 * at a time, and are removed from the spool only once the controller says that
 * they are stored. Of many that wait each call takes the next few
 * (agents/assayd/upload_batch.h): with several calls under way they could overtake each
 * other, and one that comes late counts for no window. Whatever happens in between (a crash on
 *either side, a cut connection, half an answer) a report is sent again, and the controller knows it
 *by (node, boot_id, seq).
 *
 *	idle --kick--> sending --stored--> sending ... --spool empty--> idle
 *	                  |--refused for ever--> spool/bad, next
 *	                  `--anything else--> waiting (backoff) --> sending
 */
#pragma once

#include <stdint.h>

#include "lib/base/backoff.h"
#include "lib/base/macro.h"

struct err;
struct http;
struct sd_event;
struct uplink;

#define UPLINK_TIMEOUT_US UINT64_C(60000000) /* for one report */
#define UPLINK_RETURN_US \
	UINT64_C(5000000) /* spread of a fleet that hears of its controller again */

enum { UPLINK_ANSWER_MAX = 64 * 1024 };

struct uplink_options {
	struct http *http;		/* borrowed, outlives the uplink */
	const char *url;		/* of the controller, without a slash at its end; copied */
	struct backoff backoff;		/* base and cap */
	void (*changed)(void *context); /* what uplink_state() says is another thing now */
	void (*want)(void *context, const char *digest); /* of a topology; may be NULL */
	void *context;
};

/* Begin idle: uplink_kick() starts it. */
int uplink_new(struct sd_event *event, const struct uplink_options *options, struct uplink **ret,
	       struct err *err);
void uplink_free(struct uplink *uplink);

/* There may be something in the spool. */
void uplink_kick(struct uplink *uplink);

/* The controller was heard of: if waiting for it, try within UPLINK_RETURN_US. */
void uplink_hint(struct uplink *uplink);

/* How many reports waited when the spool was last looked at, less those sent since. */
size_t uplink_waiting(const struct uplink *uplink);

/* Why nothing leaves at the moment: a sentence, or "" while all is well. Borrowed. */
const char *uplink_trouble(const struct uplink *uplink);
