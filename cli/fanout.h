/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One action on many hosts: several requests in parallel, with the answers in the order of the
 * hosts.
 *
 * Commands marked `apart` have up to LINK_AT_ONCE requests pending, others one, so that a budget
 * goes to the hosts named first. Until the first host has succeeded there is only one in any
 * case: a refusal that applies to all then costs a single request.
 */
#pragma once

#include "cli/link.h"
#include "lib/base/err.h"
#include "lib/base/macro.h"

struct fanout;
struct request;
struct targets;

struct fanout_answer {
	const char *name; /* host name; borrowed from the targets */
	int r;		  /* as link_order() */
	struct link_sent sent;
	struct err err; /* if r < 0 */
};

/* Sends nothing yet. Borrows everything. */
struct fanout *fanout_new(struct link *link, const struct request *request,
			  const struct targets *targets);

/* Drops pending requests. */
void fanout_free(struct fanout *fanout);
DEFINE_CLEANUP(struct fanout *, fanout_free, fanout_freep);

/*
 * Wait for the next host's answer, which has "undo" if it can be reverted. A busy controller is
 * asked again for as long as an answer may take (the timeout in the settings). The caller owns
 * `ret->sent`. False once all answers have been taken.
 */
bool fanout_take(struct fanout *fanout, struct fanout_answer *ret);

/* Send no more. Answers of pending requests must still be taken: they may have succeeded. */
void fanout_stop(struct fanout *fanout);
