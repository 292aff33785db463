/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a Lease, as client-go's leaderelection has it, and never two at a time. Pure: what
 * to send comes out, what was answered goes in, and the time is a parameter.
 *
 *	while ((step = lease_next(&s, now_us, &wake_us)) != LEASE_WAIT)     send lease_body(), and
 *		lease_answer(&s, &answer, now_us, random);                  later what came of it
 *
 *  - Clocks are not compared. A Lease has ended when its record did not change for as long as
 *    it says, by our own clock, since we saw the record change.
 *  - We hold it for `deadline` after the *start* of the last write that succeeded: the server did
 *    it later than that, and others see it later still. So it is ours for less long than
 *    others leave it to us, as long as no clock goes half as fast again as another.
 *  - Every write names the version it was decided on. Who got no answer, or was refused, reads.
 *  - Lost is lost: there is no way back but a new start.
 *
 * The clock is one that goes on while the machine sleeps: who slept has held nothing.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/backoff.h"
#include "lib/base/macro.h"

struct err;

enum { LEASE_SECONDS = 15 };

/* In the proportion 15 : 10 : 2; a request may take a third of the first. */
struct lease_times {
	uint64_t duration_us; /* so long others leave it to us */
	uint64_t deadline_us; /* so long it is ours without being renewed */
	uint64_t retry_us; /* so often it is renewed, and at least so long until it is looked at again */
	uint64_t request_us; /* so long a request may take; and a write under the Lease */
};
struct lease_times lease_times(unsigned seconds);

enum lease_step {
	LEASE_WAIT,
	LEASE_READ,   /* GET */
	LEASE_CREATE, /* POST */
	LEASE_TAKE,   /* PUT: another's, or nobody's */
	LEASE_RENEW,  /* PUT: ours */
	LEASE_LOST,
};

enum lease_result {
	LEASE_OK,
	LEASE_ABSENT,	/* 404 */
	LEASE_CONFLICT, /* 409: somebody was faster */
	LEASE_REFUSED,	/* 403: a person has to mend it */
	LEASE_FAILED,	/* no answer, or one that says nothing */
};

struct lease_answer {
	int result;	      /* enum lease_result */
	const json_t *object; /* of LEASE_OK: the Lease as it is now */
	uint64_t retry_us;    /* the server wants to be left alone so long */
};

/* The record as it was read or written last. */
struct lease_seen {
	char *text;	  /* all of `spec`: another text is another record */
	char *holder;	  /* "": nobody; NULL: never seen */
	char *acquired;	  /* as it stands there, or NULL */
	json_t *metadata; /* what a PUT gives back: labels and annotations are not ours */
	uint64_t duration_us, transitions;
	uint64_t since_us; /* when we saw it change */
};

struct lease_state {
	struct lease_times times;
	char *identity;
	struct lease_seen seen;
	bool fresh;  /* what was seen may be written on, without reading it again */
	bool absent; /* there is none, as far as was seen */
	bool holds, lost;
	uint64_t held_us;	 /* the start of the last write that succeeded */
	int asked;		 /* enum lease_step that is under way; LEASE_WAIT: none */
	uint64_t asked_us;	 /* when it was sent */
	uint64_t again_us;	 /* not before */
	struct backoff refusals; /* in a row */
};

/* `identity` is copied; it must be nobody else's, ever. */
struct lease_state lease_state(const char *identity, const struct lease_times *times);
void lease_state_release(struct lease_state *s);

/*
 * What to do now. Everything but LEASE_WAIT and LEASE_LOST is to be sent, and answered; until
 * then, and until `ret_wake_us` (UINT64_MAX: nothing is due), it is LEASE_WAIT.
 */
enum lease_step lease_next(struct lease_state *s, uint64_t now_us, uint64_t *ret_wake_us);

/* What came of it. Any `random` 64 bits: waits are spread by them. */
void lease_answer(struct lease_state *s, const struct lease_answer *answer, uint64_t now_us,
		  uint64_t random);

/* Is it ours at this moment? */
bool lease_holds(const struct lease_state *s, uint64_t now_us);

/* Another that holds it, as far as we know, or NULL. Borrowed. */
const char *lease_other(const struct lease_state *s, uint64_t now_us);

/* The object to send, for the real time; new reference. */
json_t *lease_body(const struct lease_state *s, enum lease_step step, const char *name,
		   const char *namespace, uint64_t real_us);

/* The object that gives it back. */
json_t *lease_body_yield(const struct lease_state *s, const char *name, const char *namespace,
			 uint64_t real_us);
