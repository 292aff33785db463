/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One order for many hosts, several requests at once, their answers in the order of the hosts.
 *
 * An order whose row in the table of commands says `apart` has up to LINK_AT_ONCE requests under
 * way; any other has one, so that a budget goes to the hosts that were named first. Until a first
 * host is done it is one in any case: what refuses all of them refuses one.
 */
#pragma once

#include "cli/link.h"
#include "lib/base/err.h"
#include "lib/base/macro.h"

struct fanout;
struct request;
struct targets;

struct fanout_answer {
	const char *name; /* the host; borrowed from the targets */
	int r;		  /* as link_order() */
	struct link_sent sent;
	struct err err; /* of r < 0 */
};

/* Nothing is sent yet. All is borrowed. */
struct fanout *fanout_new(struct link *link, const struct request *request,
			  const struct targets *targets);

/* What was sent and is not answered is forgotten. */
void fanout_free(struct fanout *fanout);
DEFINE_CLEANUP(struct fanout *, fanout_free, fanout_freep);

/*
 * Wait for the answer for the next host, with "undo" where there is a way back. A controller that
 * is busy is asked again, as long as one answer may take (the timeout of the settings). `ret->sent`
 * is the caller's. False when all that were sent have been taken.
 */
bool fanout_take(struct fanout *fanout, struct fanout_answer *ret);

/* Send no more. What is under way is still to be taken: it may have been done. */
void fanout_stop(struct fanout *fanout);
