/* SPDX-License-Identifier: Apache-2.0 */
/* Orders by people: the checks that may refuse them, and how they begin. */
#pragma once

#include <stdint.h>

#include "controller/actions/actor.h"
#include "controller/store/store_actions.h"
#include "lib/base/macro.h"

/* All borrowed. */
struct actor_request {
	const char *node;
	const char *who;    /* "operator NAME", or as given by the identity */
	const char *reason; /* never empty */
	bool break_glass;   /* a cordon regardless of budgets and breaker; recorded as such */
	uint64_t until_us;  /* of override and silence: real time; 0 revokes it */
	bool dry_run;	    /* only return the answer; nothing is done or recorded */
	/*
	 * Idempotency key among requests for the host: a repeated request is answered with the
	 * state of its action, and nothing else is done. NULL: none.
	 */
	const char *key;
	/* Only if the host has been in its state since `since_us`, compared in milliseconds. */
	bool if_since;
	uint64_t since_us; /* 0: no such time */
};

/*
 * Request ACT_CORDON, ACT_UNCORDON, ACT_REPAIR_DONE, ACT_OVERRIDE, ACT_SILENCE or ACT_BREAKER_RESET
 * (no node). `reply` is called once, possibly before this returns, but not after actor_leave().
 */
void actor_ask(struct actor *actor, enum action_kind kind, const struct actor_request *request,
	       actor_reply_fn *reply, void *context);

/* Whoever asked with this context is gone: the order is carried out, but nobody is answered. */
void actor_leave(struct actor *actor, const void *context);
