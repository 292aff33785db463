/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a job hang, by what its hosts say of its ranks? For one that sends no beats, and beside
 * standstill.h for one that does. Pure.
 *
 * Hosts say by themselves, once a minute, what has stood still for a minute: a process that is
 * stopped, a collective that does not end, a dump of the flight recorder. A checkpoint, an
 * evaluation or a compilation looks the same for some minutes. So a job
 *
 *  - is quiet: something stands still, and nothing of it is seen to move;
 *  - is hung: it has been quiet for longer than any pause before: HUNG_PAUSES times the longest
 *    that ended by itself, and HUNG_FLOOR_US at least (PyTorch with NCCL gives up a collective
 *    after 10 minutes by default: docs.pytorch.org, torch.distributed). What no pause does (a
 *    process stopped by a signal or gone, a dump that a time-out made, a fatal Xid, beats that
 *    stand still too) is a hang after HUNG_SURE_US;
 *  - moves: a rank's position has moved, or a step came, or nobody has said for HUNG_FRESH_US
 *    that anything stands still: hosts are silent of what moves.
 *
 * Bytes on the network are no hang, whatever stands still (a checkpoint to far storage), unless it
 * is one of what no pause does. One that hangs does so until it moves.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define HUNG_FLOOR_US (10 * USEC_PER_MIN)
#define HUNG_SURE_US (2 * USEC_PER_MIN)
#define HUNG_PAUSES 2
/* One that a person ended must not hide the next. */
#define HUNG_PAUSE_MAX_US USEC_PER_HOUR
/* Hosts say it each minute: three times it did not come. */
#define HUNG_FRESH_US (3 * USEC_PER_MIN)

enum hung_state { HUNG_MOVES, HUNG_QUIET, HUNG_HUNG, HUNG_STATES };

/* "moves", "quiet", "hung". */
extern const char *const hung_state_names[HUNG_STATES];

/* A job. Zeroed: nothing was heard. Times are the caller's, in microseconds. */
struct hung {
	uint64_t still_us; /* nothing moves since then; 0: it moves, or nobody says */
	uint64_t heard_us; /* somebody has said so last */
	uint64_t pause_us; /* the longest that ended by itself */
	enum hung_state state;
};

/* What is said of it now. */
struct hung_sight {
	uint64_t heard_us; /* the last word that something stands still; 0: there is none */
	uint64_t since_us; /* it stands still since then */
	uint64_t moved_us; /* a position moved, or a step ended, last; 0: not known */
	bool sure;	   /* by something that no pause does */
	bool traffic;	   /* bytes of its ranks go over the network */
};

/* What it comes to. */
enum hung_state hung_judge(struct hung *h, const struct hung_sight *sight, uint64_t now_us);

/* How long it may be quiet. */
uint64_t hung_limit_us(const struct hung *h, bool sure);
