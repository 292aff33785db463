/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a run of a job still take steps? From its beats, the number of its last step every 10 to 60
 *s and how long steps took, and from what agents say of its ranks. Pure memory without a clock:
 *what the controller has of one run, and what it comes to at a time.
 *
 *	running		its steps come
 *	growing		they come, and take longer than they did: the median of the last block lies
 *			STANDSTILL_GROWN times above that of the first one, and their intervals of
 *			STANDSTILL_SIGMAS standard errors do not touch
 *	stands still	for the limit no step came while beats of the same step do, or while agents
 *			have said since the last beat that its ranks run
 *	ended		it said so, or its ranks are gone and it is quiet
 *	unknown		it is quiet, and nobody says whether its ranks run; or it was restored,
 *			and no beat came yet
 *
 * The limit is STANDSTILL_FLOOR_US and STANDSTILL_FACTOR usual steps together, or STANDSTILL_PAUSES
 * times the longest pause that it took and ended by itself when that is longer. A checkpoint
 * takes minutes however short a step is, hence the floor: the time after which PyTorch's NCCL gives
 * up a collective by default (docs.pytorch.org, torch.distributed). An evaluation takes some tens
 *of steps, hence the factor; and one may follow the other, hence their sum. Until the usual step is
 * known the run may compile, or read a checkpoint: STANDSTILL_START_US.
 *
 *  - what the controller did not listen to is no stillness: it counts from standstill_renew() and
 *    from the first beat of a run on, whatever age that gives;
 *  - a pause may be learned that was told as a standstill: it ended by itself. But none above
 *    STANDSTILL_PAUSE_MAX_S, so that one that a person ended does not hide the next;
 *  - a run's usual step is a median: evaluations between steps do not move it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;

enum {
	STANDSTILL_BLOCK = 64, /* steps: the last of which the usual one is the median; of a beat */
	STANDSTILL_KNOWN = 5,  /* fewer durations say nothing of the usual step */
	STANDSTILL_WARM = 10,  /* the first of a run compile, and fill caches: no reference */
};

#define STANDSTILL_FLOOR_US (10 * USEC_PER_MIN)
#define STANDSTILL_START_US USEC_PER_HOUR
#define STANDSTILL_FACTOR 40.0
#define STANDSTILL_PAUSES 2.0
#define STANDSTILL_PAUSE_MAX_S 3600.0
#define STANDSTILL_GROWN 1.1
#define STANDSTILL_SIGMAS 3.0
/* Beats come every 10 to 60 s: without one for so long they have ceased. */
#define STANDSTILL_CEASED_US (3 * USEC_PER_MIN)
/* An agent that is heard again may be so before the job is: beats have so long to follow it. */
#define STANDSTILL_GRACE_US (2 * USEC_PER_MIN)

#define STANDSTILL_STEP_MAX UINT64_C(1000000000000)
#define STANDSTILL_SECONDS_MAX 86400.0
#define STANDSTILL_AGE_MAX_S (7 * 86400.0)

enum standstill_state {
	STANDSTILL_RUNNING,
	STANDSTILL_GROWING,
	STANDSTILL_STILL,
	STANDSTILL_ENDED,
	STANDSTILL_UNKNOWN,
	STANDSTILL_STATES,
};

/* "running", "growing", "stands still", "ended", "unknown". */
extern const char *const standstill_state_names[STANDSTILL_STATES];

/* What agents say of the ranks of the run. */
enum standstill_ranks {
	STANDSTILL_RANKS_UNKNOWN,
	STANDSTILL_RANKS_LIVE, /* some run, as a host said after the last beat */
	STANDSTILL_RANKS_GONE, /* all that were known have ended */
	STANDSTILL_RANKS_STATES,
};

/* As it comes. `seconds` are those of the last steps, the last one's last; borrowed. */
struct standstill_beat {
	int64_t run;
	uint64_t step;
	const double *seconds;
	size_t n;
	double age_s; /* since the step ended */
	bool done;    /* the job ends with it */
};

/* One run. Zeroed: nothing was heard. Times are the caller's, in microseconds. */
struct standstill {
	int64_t run;
	uint64_t step;
	uint64_t advanced_us; /* the step ended, as the job says */
	uint64_t since_us;    /* and as far as it counts for stillness */
	uint64_t heard_us;    /* the last beat; 0: none yet */
	uint64_t lived_us;    /* agents have said since the last beat that ranks run: known since */
	double step_s;	      /* the usual one, of the last block; 0: not known */
	double spread_s;      /* its robust standard deviation */
	double first_s, first_spread_s;	 /* of the first block; 0: not there yet */
	double pause_s;			 /* the longest that ended */
	uint32_t n;			 /* durations that came */
	bool restored;			 /* no beat came since */
	float seconds[STANDSTILL_BLOCK]; /* the last of them, in a ring */
	bool done;
};

struct standstill_found {
	enum standstill_state state;
	uint64_t step;
	uint64_t quiet_us, limit_us;	     /* without a step; how long that may be */
	double step_s;			     /* the usual one; 0: not known */
	double grown, grown_low, grown_high; /* of the first block; 0: not known */
	bool restored, ceased;		     /* no beat comes */
};

/*
 * May it be taken? -EINVAL: something of it cannot be; -EEXIST: a later run or a later step of this
 * one has come. One sentence each.
 */
int standstill_check(const struct standstill *s, const struct standstill_beat *beat,
		     struct err *err);

/* Take one that may be. A later run begins anew, but for the longest pause. */
void standstill_take(struct standstill *s, const struct standstill_beat *beat, uint64_t now_us);

/* Nobody listened until now: what was missed meanwhile is not held against it. */
void standstill_renew(struct standstill *s, uint64_t now_us);

/*
 * What was kept of a run, of which its numbers, step, advanced_us, durations and pause count: it
 * goes on, and is listened to from now on.
 */
void standstill_restore(struct standstill *s, const struct standstill *kept, uint64_t now_us);

/* Does it depend on its ranks what it comes to? Only then they are looked up. */
bool standstill_asks(const struct standstill *s, uint64_t now_us);

/* What it comes to. Of LIVE it is noted since when that is known. */
struct standstill_found standstill_judge(struct standstill *s, enum standstill_ranks ranks,
					 uint64_t now_us);

/* "no step for 14m; its steps took 8.3 s: step 1204", new memory. */
char *standstill_words(const struct standstill_found *found);
