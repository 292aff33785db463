/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What whoever started a job is advised: to stop it so that a host can be replaced, and to start it
 * again without that host. Pure: from the last advice and what is so now to the next one.
 *
 *	           a host is to be replaced,       acknowledged          out of service, or it
 *	           it pays, there are spares                             cannot be waited for
 *	continue ------------------------> stop ------------------> stop ---------------> resume
 *	   ^                                 |                                               |
 *	   +---- expired, or withdrawn ------+        (the next host that is to be replaced) +--> stop
 *
 * Each change is an advice of its own, with a number that is never used again: whoever asks for
 * those after the last one he knows misses none. Invariants:
 *
 *  - what is predicted once is advised once: who did not stop when he was told is not told again
 *    each quarter of an hour, and neither is who stopped;
 *  - without a spare for each host nothing is stopped, and `continue` says so;
 *  - a job that was stopped is told to resume: at the latest ADVICE_HELD_US after it was, and at
 *    once when its hosts are not to be replaced any more.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum advice_kind { ADVICE_CONTINUE, ADVICE_STOP, ADVICE_RESUME, ADVICE_KINDS };
extern const char *const advice_kind_names[]; /* "continue" "stop" "resume" */

/* The reason, by which one `continue` differs from another. */
enum advice_why {
	ADVICE_NOTHING,	    /* there was none yet */
	ADVICE_NOT_RUNNING, /* continue: the job does not run, so nothing is to be stopped */
	ADVICE_PAYS_NOT,    /* continue: a restart does not pay within ADVICE_PAYS_US */
	ADVICE_NO_SPARE,    /* continue */
	ADVICE_EXPIRED,	    /* continue: nobody acknowledged the stop */
	ADVICE_WITHDRAWN,   /* continue: what the stop was for is over */
	ADVICE_TO_REPLACE,  /* stop: hosts are to be taken out of service */
	ADVICE_TO_TEST,	    /* stop: hosts are to be tested without jobs */
	ADVICE_REPLACED,    /* resume: they are out of service */
	ADVICE_WAITED,	    /* resume: they are not, and were waited for long enough */
	ADVICE_CLEARED,	    /* resume: they need not be replaced any more */
	ADVICE_DIAGNOSED,   /* all three: the job is diagnosed (diagnosing.h) */
	ADVICE_WHYS
};

/* So long a stop waits to be acknowledged. */
#define ADVICE_STOP_US (15 * USEC_PER_MIN)
/* So long a stopped job waits: two tests of all of a host, jobs.retest_spacing apart, and more. */
#define ADVICE_HELD_US (30 * USEC_PER_MIN)
/* As long as a prediction waits for the run that shows it. */
#define ADVICE_RESUME_US USEC_PER_DAY
/* Within so long a restart must pay: a job that is worth one is expected to run on for a day. */
#define ADVICE_PAYS_US USEC_PER_DAY

/* The last one. Zero: there was none. */
struct advice_last {
	int kind, why; /* enum advice_kind, advice_why */
	int64_t prediction;
	uint64_t expires_us; /* 0: it asks for nothing */
	uint64_t done_us;    /* acknowledged; 0: it is not */
};

/* What is so. */
struct advice_facts {
	uint64_t now_us;
	int64_t prediction; /* what is predicted of hosts that are to be replaced; 0: none are */
	bool advised;	    /* there was a stop for it */
	bool to_test;	    /* they are to be tested first */
	bool running;	    /* the job may be */
	bool pays, spares;
	/* Of the hosts of the last advice: */
	bool out;     /* one is out of service */
	bool pending; /* one is not, and is to be tested or taken out still */
};

struct advice_next {
	int kind, why;
	uint64_t expires_us;
};

/* False: the last one stands. */
bool advice_next(const struct advice_last *last, const struct advice_facts *now,
		 struct advice_next *ret);

/* May something come of it without a word from anybody? Then it is to be looked at again. */
bool advice_is_under_way(const struct advice_last *last);

/* "open", "acknowledged", "expired", or "none": it asks for nothing. Static. */
const char *advice_state(const struct advice_last *last, uint64_t now_us);
