/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of people: what refuses them, and how they begin. */
#pragma once

#include <stdint.h>

#include "controller/actions/actor.h"
#include "controller/store/store_actions.h"
#include "lib/base/macro.h"

/* All borrowed. */
struct actor_request {
	const char *node;
	const char *who;    /* "operator NAME" or what the identity says */
	const char *reason; /* never empty */
	bool break_glass;   /* a cordon beyond the budgets and the breaker: recorded as such */
	uint64_t until_us;  /* of override and silence: real time; 0 takes it back */
	bool dry_run;	    /* say what would be answered: nothing is done or recorded */
	/*
	 * What tells this request from others of the host: one that comes again is answered as its
	 * action stands, and nothing more is done. NULL: it has none.
	 */
	const char *key;
	/* Only if the host's life is still what it came to be then, to the millisecond. */
	bool if_since;
	uint64_t since_us; /* 0: it has no such time */
};

/*
 * Ask for it: ACT_CORDON, ACT_UNCORDON, ACT_REPAIR_DONE, ACT_OVERRIDE, ACT_SILENCE,
 * ACT_BREAKER_RESET (no node). `reply` is called once, maybe before this returns; not after
 * actor_leave().
 */
void actor_ask(struct actor *actor, enum action_kind kind, const struct actor_request *request,
	       actor_reply_fn *reply, void *context);

/* Who asked with this context is gone: it is done all the same, and nobody told. */
void actor_leave(struct actor *actor, const void *context);
