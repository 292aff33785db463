/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one host, from suspicion to its return, as a table of states and
 * events. Pure: who keeps the states is told what changed and writes it down.
 *
 *	healthy --> suspected --> retesting --> cordoned --> (drained) --> in-repair
 *	   ^            |             |         |    ^  \________  ________/
 *	   |<-----------+-------------+         v    |           \/
 *	released <----------------------------- verifying <--- repair-done
 *	                                         ^
 *	sticky (cordoned too often) -------------+  only after a person said repair-done
 *
 * Invariants:
 *  - only cordoned, drained, in-repair, verifying and sticky hosts are held by us
 *    (life_holds()), and every way out of these ends in the same clean-up
 *    (fleet_event() in fleet.h): by itself, by assayctl and by hand;
 *  - nothing automatic leaves sticky;
 *  - what is no row of the table is refused with a sentence and changes nothing.
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
	LIFE_RELEASED,	/* in service again; its record is remembered */
	LIFE_STICKY,	/* cordoned until a person says that it is repaired */
	LIFE_STATES
};
extern const char *const life_state_names[]; /* "healthy" ... "in-repair" ... "sticky" */

enum life_event {
	EVENT_SUSPECTED,
	EVENT_CLEARED, /* nothing is bad any more, or the test passed */
	EVENT_RETEST,  /* a test was ordered */
	EVENT_CORDONED,
	EVENT_CORDONED_STICKY, /* once too often in the policy's window */
	EVENT_DRAIN_ASKED,     /* what runs there was told that it should leave */
	EVENT_DRAIN_BEGUN,     /* what runs there is evicted */
	EVENT_DRAINED,	       /* nothing runs there any more */
	EVENT_DRAIN_FAILED,    /* something was still there at the deadline */
	EVENT_REPAIR_BEGUN,
	EVENT_REPAIR_DONE, /* a person or a remedy says so: verify */
	EVENT_VERIFY,	   /* nothing is bad any more: verify */
	EVENT_VERIFY_FAILED,
	EVENT_RELEASED,	  /* we lifted our cordon: automatic or assayctl uncordon */
	EVENT_UNCORDONED, /* someone lifted our cordon by hand: an order */
	EVENT_REPLACED,	  /* another machine under this name */
	EVENT_SETTLED,	  /* released, and nothing since for the sticky window */
	EVENT_OVERRIDE,	  /* do not cordon until ... */
	EVENT_SILENCE,	  /* tell and do nothing until ... */
	EVENT_HOLD,	  /* kept free of jobs for a test until ... */
	EVENT_UNHOLD,
	LIFE_EVENTS
};
extern const char *const life_event_names[]; /* "suspected" ... "cordoned-sticky" ... */

/* Who does what we do by ourselves. Anything else is "operator NAME". */
#define WHO_AUTOMATIC "automatic"

struct life {
	int state;	   /* enum life_state */
	uint64_t since_us; /* when it came to be in this state */
	bool manual;	   /* the cordon is an operator's: only a person ends it */
};

/* One transition, to be recorded. The texts are those of the cause: borrowed. */
struct life_change {
	int from, to; /* enum life_state; equal for override, silence and holds */
	int event;    /* enum life_event */
	uint64_t at_us;
	const char *who, *why, *evidence;
	const char *undo; /* what takes it back, with NODE for the name; static */
};

/* Do we keep work off a host in this state? */
bool life_holds(int state);

/* Where the event leads from `state`, or -1 when it cannot happen there. */
int life_next(int state, int event);

/*
 * Let `event` happen to `life`. `ret` may be NULL. -EINVAL with "a healthy host
 * cannot be released: ..." when the table has no such row; `who`, `why` and
 * `evidence` are copied to `ret` as pointers.
 */
int life_step(struct life *life, const struct life_change *change, struct life_change *ret,
	      struct err *err);
