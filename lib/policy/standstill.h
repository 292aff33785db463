/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a run of a job still takes steps. From its heartbeats (the number of its last
 * step every 10 to 60 s, and how long steps took), and from what agents say of its ranks. Pure
 * memory without a clock: what the controller knows of one run, and its state at a given time.
 *
 *	running		steps come
 *	growing		steps come, but take longer than before: the median of the last block is
 *			STANDSTILL_GROWN times that of the first one or more, and their intervals
 *			of STANDSTILL_SIGMAS standard errors do not overlap
 *	stands still	no step came within the limit, while heartbeats of the same step came, or
 *			agents have said since the last heartbeat that its ranks run
 *	ended		it said so, or its ranks are gone and it is quiet
 *	unknown		it is quiet, and nobody says whether its ranks run; or it was restored
 *			and no heartbeat came yet
 *
 * The limit is STANDSTILL_FLOOR_US plus STANDSTILL_FACTOR usual steps, or STANDSTILL_PAUSES times
 * the longest pause that ended by itself if that is longer. A checkpoint takes minutes however
 * short a step is, hence the floor: the time after which PyTorch's NCCL gives up a collective by
 * default (docs.pytorch.org, torch.distributed). An evaluation takes some tens of steps, hence the
 * factor; one may follow the other, hence the sum. Until the usual step is known the run may be
 * compiling or reading a checkpoint: STANDSTILL_START_US.
 *
 * - Time in which the controller did not listen does not count as stillness: it starts at
 *   standstill_renew() and at the first heartbeat of a run, whatever age that gives.
 * - A pause that was reported as a standstill may be learned, since it ended by itself; but at most
 *   STANDSTILL_PAUSE_MAX_S, so that one that a person ended does not hide the next.
 * - A run's usual step is a median, so evaluations between steps do not move it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;

enum {
	STANDSTILL_BLOCK = 64, /* steps: the usual one is the median of the last; most of a beat */
	STANDSTILL_KNOWN = 5,  /* fewer durations are not enough for a usual step */
	STANDSTILL_WARM = 10,  /* the first steps of a run compile and fill caches: no reference */
};

#define STANDSTILL_FLOOR_US (10 * USEC_PER_MIN)
#define STANDSTILL_START_US USEC_PER_HOUR
#define STANDSTILL_FACTOR 40.0
#define STANDSTILL_PAUSES 2.0
#define STANDSTILL_PAUSE_MAX_S 3600.0
#define STANDSTILL_GROWN 1.1
#define STANDSTILL_SIGMAS 3.0
/* Heartbeats come every 10 to 60 s: after this long without one they have ceased. */
#define STANDSTILL_CEASED_US (3 * USEC_PER_MIN)
/* An agent may be back before its job is: heartbeats may follow it this much later. */
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
	STANDSTILL_RANKS_LIVE, /* some run, according to a host after the last heartbeat */
	STANDSTILL_RANKS_GONE, /* all known ones have ended */
	STANDSTILL_RANKS_STATES,
};

/* One heartbeat. `seconds` are the durations of the last steps, latest last; borrowed. */
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
	uint64_t advanced_us; /* when the step ended, according to the job */
	uint64_t since_us;    /* the same, as far as it counts for stillness */
	uint64_t heard_us;    /* last heartbeat; 0: none yet */
	uint64_t lived_us; /* agents have said since the last heartbeat that ranks run: first known */
	double step_s;	   /* usual step, of the last block; 0: unknown */
	double spread_s;   /* its robust standard deviation */
	double first_s, first_spread_s;	 /* of the first block; 0: not there yet */
	double pause_s;			 /* longest pause that ended */
	uint32_t n;			 /* durations received */
	bool restored;			 /* no heartbeat came since */
	float seconds[STANDSTILL_BLOCK]; /* the most recent, as a ring */
	bool done;
};

struct standstill_found {
	enum standstill_state state;
	uint64_t step;
	uint64_t quiet_us, limit_us;	     /* without a step; and how long that may be */
	double step_s;			     /* usual step; 0: unknown */
	double grown, grown_low, grown_high; /* relative to the first block; 0: unknown */
	bool restored, ceased;		     /* no heartbeats come */
};

/*
 * Checks a heartbeat. -EINVAL: an impossible value; -EEXIST: a later run, or a later step of this
 * one, has already come. Each with one sentence.
 */
int standstill_check(const struct standstill *s, const struct standstill_beat *beat,
		     struct err *err);

/* Takes a heartbeat that passed the check. A later run starts afresh, but for the longest pause. */
void standstill_take(struct standstill *s, const struct standstill_beat *beat, uint64_t now_us);

/* Nobody listened until now: what was missed does not count against it. */
void standstill_renew(struct standstill *s, uint64_t now_us);

/*
 * Restores what was kept of a run, of which its numbers, step, advanced_us, durations and pause
 * count: it goes on, and is listened to from now on.
 */
void standstill_restore(struct standstill *s, const struct standstill *kept, uint64_t now_us);

/* True if the state depends on its ranks; only then they are looked up. */
bool standstill_asks(const struct standstill *s, uint64_t now_us);

/* The state now. For LIVE, notes since when that is known. */
struct standstill_found standstill_judge(struct standstill *s, enum standstill_ranks ranks,
					 uint64_t now_us);

/* "no step for 14m; its steps took 8.3 s: step 1204". New memory. */
char *standstill_words(const struct standstill_found *found);
