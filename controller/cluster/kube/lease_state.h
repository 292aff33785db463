/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds a Lease, as in client-go's leaderelection, with at most one holder at a time. Pure:
 * returns what to send, takes the answers, and the time is a parameter.
 *
 *         while ((step = lease_next(&s, now_us, &wake_us)) != LEASE_WAIT)     send lease_body(),
 * and lease_answer(&s, &answer, now_us, random);                  later the result
 *
 * - Clocks are not compared. A Lease has expired if its record has not changed for its duration, by
 *   our own clock, since we saw it change.
 * - We hold it for `deadline` after the *start* of the last successful write: the server did it
 *   later than that, and others see it later still. So we give it up before others may take it, as
 *   long as no clock runs half as fast again as another.
 * - Every write names the version it was decided on. After a refusal or without an answer, read
 *   again.
 * - Lost is final: the only way back is a restart.
 *
 * The clock must include the time the machine sleeps: after a sleep nothing is held.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/backoff.h"
#include "lib/base/macro.h"

struct err;

enum { LEASE_SECONDS = 15 };

/* In the ratio 15 : 10 : 2; a request may take a third of the first. */
struct lease_times {
	uint64_t duration_us; /* how long others leave it to us */
	uint64_t deadline_us; /* how long it is ours without renewal */
	uint64_t retry_us;    /* interval of renewals, and least interval between other attempts */
	uint64_t request_us;  /* timeout of a request, and of a write under the Lease */
};
struct lease_times lease_times(unsigned seconds);

enum lease_step {
	LEASE_WAIT,
	LEASE_READ,   /* GET */
	LEASE_CREATE, /* POST */
	LEASE_TAKE,   /* PUT: another's expired Lease, or nobody's */
	LEASE_RENEW,  /* PUT: ours */
	LEASE_LOST,
};

enum lease_result {
	LEASE_OK,
	LEASE_ABSENT,	/* 404 */
	LEASE_CONFLICT, /* 409: somebody else was first */
	LEASE_REFUSED,	/* 403: a person has to fix it */
	LEASE_FAILED,	/* no answer, or a meaningless one */
};

struct lease_answer {
	int result;	      /* enum lease_result */
	const json_t *object; /* if LEASE_OK: the current Lease */
	uint64_t retry_us;    /* pause requested by the server */
};

/* The record as last read or written. */
struct lease_seen {
	char *text;	  /* the whole `spec`: any change is a new record */
	char *holder;	  /* "": nobody; NULL: never seen */
	char *acquired;	  /* as in the record, or NULL */
	json_t *metadata; /* returned unchanged in a PUT: labels and annotations of others */
	uint64_t duration_us, transitions;
	uint64_t since_us; /* when we saw it change */
};

struct lease_state {
	struct lease_times times;
	char *identity;
	struct lease_seen seen;
	bool fresh;  /* `seen` is current: write without reading again */
	bool absent; /* it does not exist, as far as is known */
	bool holds, lost;
	uint64_t held_us;	 /* start of the last successful write */
	int asked;		 /* enum lease_step in progress; LEASE_WAIT: none */
	uint64_t asked_us;	 /* when it was sent */
	uint64_t again_us;	 /* earliest next step */
	struct backoff refusals; /* consecutive */
};

/* `identity` is copied; it must be unique forever. */
struct lease_state lease_state(const char *identity, const struct lease_times *times);
void lease_state_release(struct lease_state *s);

/*
 * What to do now. Anything but LEASE_WAIT and LEASE_LOST has to be sent and answered; until then,
 * and until `ret_wake_us` (UINT64_MAX: nothing is due), it returns LEASE_WAIT.
 */
enum lease_step lease_next(struct lease_state *s, uint64_t now_us, uint64_t *ret_wake_us);

/* The result. `random`: any 64 bits, used to spread waits. */
void lease_answer(struct lease_state *s, const struct lease_answer *answer, uint64_t now_us,
		  uint64_t random);

/* Do we hold it at this moment? */
bool lease_holds(const struct lease_state *s, uint64_t now_us);

/* The other that holds it, as far as is known, or NULL. Borrowed. */
const char *lease_other(const struct lease_state *s, uint64_t now_us);

/* The object to send, for the real time. New reference. */
json_t *lease_body(const struct lease_state *s, enum lease_step step, const char *name,
		   const char *namespace, uint64_t real_us);

/* The object that releases it. */
json_t *lease_body_yield(const struct lease_state *s, const char *name, const char *namespace,
			 uint64_t real_us);
