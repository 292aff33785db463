/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life cycle of a host, from suspicion to its return, as a table of states and events. Pure:
 * the keeper of the states is told what changed and records it.
 *
 *	healthy --> suspected --> retesting --> cordoned --> (drained) --> in-repair
 *	   ^            |             |         |    ^  \________  ________/
 *	   |<-----------+-------------+         v    |           \/
 *	released <----------------------------- verifying <--- repair-done
 *	                                         ^
 *	sticky (cordoned too often) -------------+  only after a person said repair-done
 *
 * Invariants:
 * - We only hold hosts that are cordoned, drained, in-repair, verifying or sticky (life_holds()),
 *   and every way out of these states ends in the same clean-up (fleet_event() in fleet.h):
 *   automatic, by assayctl, and by hand.
 * - Nothing automatic leaves sticky.
 * - An event without a row in the table is refused with a sentence and changes nothing.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum life_state {
	LIFE_HEALTHY,
	LIFE_SUSPECTED, /* K of N, or blamed by a slow job */
	LIFE_RETESTING, /* a test is ordered */
	LIFE_CORDONED,
	LIFE_DRAINED, /* cordoned, and its jobs have left */
	LIFE_IN_REPAIR,
	LIFE_VERIFYING, /* still cordoned; active tests must pass */
	LIFE_RELEASED,	/* back in service; its record is kept */
	LIFE_STICKY,	/* cordoned until a person says that it is repaired */
	LIFE_STATES
};
extern const char *const life_state_names[]; /* "healthy" ... "in-repair" ... "sticky" */

enum life_event {
	EVENT_SUSPECTED,
	EVENT_CLEARED, /* nothing is bad any more, or the test passed */
	EVENT_RETEST,  /* a test was ordered */
	EVENT_CORDONED,
	EVENT_CORDONED_STICKY, /* once too often within the policy's window */
	EVENT_DRAIN_ASKED,     /* its jobs were asked to leave */
	EVENT_DRAIN_BEGUN,     /* its jobs are being evicted */
	EVENT_DRAINED,	       /* no jobs are left on it */
	EVENT_DRAIN_FAILED,    /* something was still there at the deadline */
	EVENT_REPAIR_BEGUN,
	EVENT_REPAIR_DONE, /* according to a person or a remedy: verify */
	EVENT_VERIFY,	   /* nothing is bad any more: verify */
	EVENT_VERIFY_FAILED,
	EVENT_RELEASED,	  /* we lifted our cordon: automatic or assayctl uncordon */
	EVENT_UNCORDONED, /* somebody lifted our cordon by hand: an order */
	EVENT_REPLACED,	  /* another machine under this name */
	EVENT_SETTLED,	  /* released, and nothing happened for the sticky window */
	EVENT_OVERRIDE,	  /* do not cordon until ... */
	EVENT_SILENCE,	  /* report, but do nothing until ... */
	EVENT_HOLD,	  /* kept free of jobs for a test until ... */
	EVENT_UNHOLD,
	LIFE_EVENTS
};
extern const char *const life_event_names[]; /* "suspected" ... "cordoned-sticky" ... */

/* `who` for automatic actions; otherwise it is "operator NAME". */
#define WHO_AUTOMATIC "automatic"

struct life {
	int state;	   /* enum life_state */
	uint64_t since_us; /* when it entered this state */
	bool manual;	   /* an operator's cordon: only a person ends it */
};

/* One transition, to be recorded. Texts are borrowed from the cause. */
struct life_change {
	int from, to; /* enum life_state; equal for override, silence and holds */
	int event;    /* enum life_event */
	uint64_t at_us;
	const char *who, *why, *evidence;
	const char *undo; /* what takes it back, with NODE for the name; static */
};

/* True if we keep work off a host in this state. */
bool life_holds(int state);

/* The state after the event, or -1 if it cannot happen in `state`. */
int life_next(int state, int event);

/*
 * Applies `event` to `life`. `ret` may be NULL. -EINVAL with "a healthy host cannot be released:
 * ..." if the table has no such row. `who`, `why` and `evidence` are copied to `ret` as pointers.
 */
int life_step(struct life *life, const struct life_change *change, struct life_change *ret,
	      struct err *err);
