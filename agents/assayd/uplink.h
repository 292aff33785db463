/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spool -> controller: reports are sent in the order of their numbers, one request at a time, and
 * removed from the spool only once the controller says that they are stored. A request carries
 * the next few reports of a backlog (agents/assayd/upload_batch.h); with parallel requests they
 * could overtake each other, and a report that comes late counts for no window. After any failure
 * (a crash on either side, a cut connection, half an answer) a report is sent again, and the
 * controller recognizes it by (node, boot_id, seq).
 *
 *	idle --kick--> sending --stored--> sending ... --spool empty--> idle
 *	                  |--permanently refused--> spool/bad, next
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

#define UPLINK_TIMEOUT_US UINT64_C(60000000) /* per report */
#define UPLINK_RETURN_US UINT64_C(5000000)   /* spreads a fleet whose controller has returned */

enum { UPLINK_ANSWER_MAX = 64 * 1024 };

struct uplink_options {
	struct http *http;		/* borrowed; must outlive the uplink */
	const char *url;		/* of the controller, without a trailing slash; copied */
	struct backoff backoff;		/* base and cap */
	void (*changed)(void *context); /* of uplink_trouble(), or the spool is empty */
	void (*want)(void *context, const char *digest); /* a topology is requested; may be NULL */
	void *context;
};

/* Starts idle; uplink_kick() starts sending. */
int uplink_new(struct sd_event *event, const struct uplink_options *options, struct uplink **ret,
	       struct err *err);
void uplink_free(struct uplink *uplink);

/* Check the spool: there may be new reports. */
void uplink_kick(struct uplink *uplink);

/* The controller is reachable: if we are backing off, retry within UPLINK_RETURN_US. */
void uplink_hint(struct uplink *uplink);

/* Number of reports in the spool when it was last read, minus those sent since. */
size_t uplink_waiting(const struct uplink *uplink);

/* Why nothing is being sent: a sentence, or "" if all is well. Borrowed. */
const char *uplink_trouble(const struct uplink *uplink);
