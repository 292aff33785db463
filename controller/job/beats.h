/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heartbeats of jobs: every 10 to 60 s a job reports its last step, and once a second each is
 * checked for progress (lib/policy/standstill.h). A job that stands still is shown so and reported
 * once (beats_told.h), and again when it stands still at another step.
 *
 * Heartbeats are kept in memory; beats_kept.h has what survives a restart. Stillness is counted
 * only while the controller listens: after a start, after another controller was the leader, and
 * after a gap of BEATS_LOOK_GAP_US it starts anew for all jobs.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/policy/standstill.h"

struct controller_part;
struct err;
struct service;

/* Rate limit per job, with a burst, as after an outage. */
#define BEATS_EVERY_US (2 * USEC_PER_SEC)
enum { BEATS_AT_ONCE = 8 };
/* Rate limit for unknown jobs. */
#define BEATS_NEW_EVERY_US (100 * USEC_PER_MSEC)
enum { BEATS_NEW_AT_ONCE = 256 };

/* Longest gap between two checks; after a longer one the controller was not listening. */
#define BEATS_LOOK_GAP_US (2 * USEC_PER_MIN)
/* Rate of looking up the ranks of a quiet job, */
#define BEATS_RANKS_EVERY_US USEC_PER_MIN
/* the maximum of jobs looked up per second, */
enum { BEATS_RANKS_AT_ONCE = 32 };
/* and how often to retry a diagnosis that was blocked. */
#define BEATS_DIAGNOSE_EVERY_US USEC_PER_MIN

/* Longest interval at which the store learns that a job is alive. */
#define BEATS_HEARD_EVERY_US (30 * USEC_PER_MIN)
/* A job without a beat for this long is forgotten, unless it stands still. */
#define BEATS_FORGET_US USEC_PER_DAY

extern const struct controller_part beats_part;

/* Result of beats_take(). */
struct beats_taken {
	int64_t job;
	bool made;	 /* the job was unknown: durable with the next commit */
	unsigned wait_s; /* with -EAGAIN: retry after this time */
};

/*
 * Take a heartbeat. -EINVAL, -EEXIST: as standstill_check(); -EAGAIN: too soon after the previous
 * one; -EDQUOT: no room for another job; -EIO and others: the store failed.
 */
int beats_take(struct service *s, const char *job, const struct standstill_beat *beat,
	       struct beats_taken *ret, struct err *err);

/* Add "beats" to a job as shown by the API, and "state" while it stands still. */
void beats_show(const struct service *s, json_t *job);

/* A job with heartbeats. All borrowed. */
struct beats_now {
	const char *job;
	const char *words; /* a clause if it is quiet, else NULL */
	int64_t run;
	uint64_t advanced_us; /* time of its last step */
	bool quiet;	      /* no step for half the limit of a standstill or longer */
	bool still;	      /* it stands still */
};

/* Call `each` for the jobs that are alive. */
void beats_each(const struct service *s, void (*each)(void *context, const struct beats_now *now),
		void *context);

/* Number of jobs that stand still. */
uint64_t beats_standing_still(const struct service *s);

/* A job that stands still, or did when last heard of. All borrowed. */
struct beats_still {
	const char *job;
	const char *words; /* a clause: since when */
	uint64_t since_us; /* time of its last step */
	bool sure; /* false: it did before the controller started; unknown whether it still does */
};

/* Call `each` for the jobs reported as standing still that have not taken a step or ended since. */
void beats_each_still(const struct service *s,
		      void (*each)(void *context, const struct beats_still *still), void *context);
