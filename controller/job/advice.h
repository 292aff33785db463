/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice to whoever started a job: to stop it so that a host can be replaced, and to start it again
 * without that host. Pure: computes the next advice from the last one and the current facts.
 *
 *              a host is to be replaced,       acknowledged          out of service, or
 *              it pays, there are spares                             waited for too long
 *   continue ------------------------> stop ------------------> stop ---------------> resume
 *      ^                                 |                                               |
 *      +---- expired, or withdrawn ------+        (the next host that is to be replaced) +--> stop
 *
 * Each change is a new advice with a number that is never reused, so a client that asks for those
 * after the last one it knows misses none. Invariants:
 *
 * - each prediction leads to one advice: it is not repeated every quarter of an hour, whether the
 *   job was stopped or not;
 * - nothing is stopped without a spare for each host, and `continue` says so;
 * - a stopped job is always told to resume: at the latest ADVICE_HELD_US after the stop, and at
 *   once if its hosts no longer have to be replaced.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum advice_kind { ADVICE_CONTINUE, ADVICE_STOP, ADVICE_RESUME, ADVICE_KINDS };
extern const char *const advice_kind_names[]; /* "continue" "stop" "resume" */

/* The reason; tells one `continue` from another. */
enum advice_why {
	ADVICE_NOTHING,	    /* no advice yet */
	ADVICE_NOT_RUNNING, /* continue: the job does not run, so there is nothing to stop */
	ADVICE_PAYS_NOT,    /* continue: a restart does not pay off within ADVICE_PAYS_US */
	ADVICE_NO_SPARE,    /* continue */
	ADVICE_EXPIRED,	    /* continue: nobody acknowledged the stop */
	ADVICE_WITHDRAWN,   /* continue: the reason for the stop is gone */
	ADVICE_TO_REPLACE,  /* stop: hosts are to be taken out of service */
	ADVICE_TO_TEST,	    /* stop: hosts are to be tested without jobs */
	ADVICE_REPLACED,    /* resume: they are out of service */
	ADVICE_WAITED,	    /* resume: they are not, and the wait is over */
	ADVICE_CLEARED,	    /* resume: they no longer have to be replaced */
	ADVICE_DIAGNOSED,   /* all three: the job is being diagnosed (diagnosing.h) */
	ADVICE_WHYS
};

/* How long a stop waits to be acknowledged. */
#define ADVICE_STOP_US (15 * USEC_PER_MIN)
/* How long a stopped job waits: time for two full tests of a host jobs.retest_spacing apart, and
 * some. */
#define ADVICE_HELD_US (30 * USEC_PER_MIN)
/* Validity of a resume: as long as a prediction waits for the run that verifies it. */
#define ADVICE_RESUME_US USEC_PER_DAY
/* A restart must pay off within this time: a job worth restarting is expected to run for another
 * day. */
#define ADVICE_PAYS_US USEC_PER_DAY

/* The last advice. Zero: none. */
struct advice_last {
	int kind, why; /* enum advice_kind, advice_why */
	int64_t prediction;
	uint64_t expires_us; /* 0: it asks for nothing */
	uint64_t done_us;    /* acknowledged; 0: no */
};

/* The current facts. */
struct advice_facts {
	uint64_t now_us;
	int64_t prediction; /* the prediction for the hosts to be replaced; 0: none */
	bool advised;	    /* a stop was advised for it */
	bool to_test;	    /* they are to be tested first */
	bool running;	    /* the job may be running */
	bool pays, spares;
	/* Of the hosts in the last advice: */
	bool out;     /* one is out of service */
	bool pending; /* one is in service and still to be tested or taken out */
};

struct advice_next {
	int kind, why;
	uint64_t expires_us;
};

/* Returns false if the last advice stands. */
bool advice_next(const struct advice_last *last, const struct advice_facts *now,
		 struct advice_next *ret);

/* May the advice change without any request? Then it has to be checked again. */
bool advice_is_under_way(const struct advice_last *last);

/* "open", "acknowledged", "expired", or "none" if it asks for nothing. Static. */
const char *advice_state(const struct advice_last *last, uint64_t now_us);
