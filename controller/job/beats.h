/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beats of jobs: a job says every 10 to 60 s which step was its last, and once a second it is
 * looked whether each still takes steps (lib/policy/standstill.h). One that stands still is shown
 * so, told once (beats_told.h), and told again when it stands still at another step.
 *
 * Beats are kept in memory; what outlives the controller is in beats_kept.h. Stillness counts from
 * when the controller listens: after a start, after another one acted, and after a time in which
 * it did not run (BEATS_LOOK_GAP_US), it begins anew for all jobs.
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

/* Of one job: some may come at once, as after an outage. */
#define BEATS_EVERY_US (2 * USEC_PER_SEC)
enum { BEATS_AT_ONCE = 8 };
/* Jobs that nobody knew. */
#define BEATS_NEW_EVERY_US (100 * USEC_PER_MSEC)
enum { BEATS_NEW_AT_ONCE = 256 };

/* So long after the last look nobody has listened. */
#define BEATS_LOOK_GAP_US (2 * USEC_PER_MIN)
/* Ranks of a job that is quiet are looked up so often, */
#define BEATS_RANKS_EVERY_US USEC_PER_MIN
/* of so many jobs in a second at most; */
enum { BEATS_RANKS_AT_ONCE = 32 };
/* and what stood in the way of its diagnosis is tried again so often. */
#define BEATS_DIAGNOSE_EVERY_US USEC_PER_MIN

/* A job that beats is heard of, as far as the store knows, so often at least. */
#define BEATS_HEARD_EVERY_US (30 * USEC_PER_MIN)
/* One without a beat for so long is listened for no more, unless it stands still. */
#define BEATS_FORGET_US USEC_PER_DAY

extern const struct controller_part beats_part;

/* What became of one. */
struct beats_taken {
	int64_t job;
	bool made;	 /* nobody knew the job: durable with the next commit */
	unsigned wait_s; /* with -EAGAIN: come again after so many seconds */
};

/*
 * Take a beat of the job. -EINVAL, -EEXIST: as standstill_check(); -EAGAIN: too soon after the one
 * before; -EDQUOT: no room for another job; -EIO and others: the store failed.
 */
int beats_take(struct service *s, const char *job, const struct standstill_beat *beat,
	       struct beats_taken *ret, struct err *err);

/* Put what is known of its beats into a job as the API shows it: "beats", and "state" while it
 * stands still. */
void beats_show(const struct service *s, json_t *job);

/* A job that beats. All borrowed. */
struct beats_now {
	const char *job;
	const char *words; /* a clause; only of one that is quiet, else NULL */
	int64_t run;
	uint64_t advanced_us; /* its last step */
	bool quiet;	      /* without a step for half of what is a standstill, or more */
	bool still;	      /* it stands still */
};

/* Call `each` for those that are heard of and have not ended. */
void beats_each(const struct service *s, void (*each)(void *context, const struct beats_now *now),
		void *context);

/* How many stand still. */
uint64_t beats_standing_still(const struct service *s);

/* A job that stands still, or did when it was heard of last. All borrowed. */
struct beats_still {
	const char *job;
	const char *words; /* since when, a clause */
	uint64_t since_us; /* its last step */
	bool sure; /* false: it did before the controller started, and nobody knows whether it does */
};

/* Call `each` for those that were told and have neither taken a step nor ended since. */
void beats_each_still(const struct service *s,
		      void (*each)(void *context, const struct beats_still *still), void *context);
