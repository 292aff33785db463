/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a job hangs, from what its hosts say of its ranks. For jobs without heartbeats;
 * for those with heartbeats in addition to standstill.h. Pure.
 *
 * Hosts report once a minute what has stood still for a minute: a stopped process, a collective
 * that does not end, a dump of the flight recorder. A checkpoint, an evaluation or a compilation
 * looks the same for some minutes. So a job
 *
 * - is quiet: something stands still, and nothing of it is seen to move;
 * - is hung: it has been quiet for longer than any pause before: HUNG_PAUSES times the longest that
 *   ended by itself, and at least HUNG_FLOOR_US (PyTorch with NCCL gives up a collective after 10
 *   minutes by default: docs.pytorch.org, torch.distributed). A sure sign, which no pause has (a
 *   process stopped by a signal or gone, a dump made by a time-out, a fatal Xid, heartbeats that
 *   also stand still), makes it a hang after HUNG_SURE_US;
 * - moves: the position of a rank moved, a step came, or no host has reported a standstill for
 *   HUNG_FRESH_US: hosts do not report what moves.
 *
 * With traffic on the network it is not a hang, whatever stands still (a checkpoint to remote
 * storage), unless there is a sure sign. A hung job stays hung until it moves.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define HUNG_FLOOR_US (10 * USEC_PER_MIN)
#define HUNG_SURE_US (2 * USEC_PER_MIN)
#define HUNG_PAUSES 2
/* A pause that a person ended must not hide the next hang. */
#define HUNG_PAUSE_MAX_US USEC_PER_HOUR
/* Hosts report each minute: three reports are missing. */
#define HUNG_FRESH_US (3 * USEC_PER_MIN)

enum hung_state { HUNG_MOVES, HUNG_QUIET, HUNG_HUNG, HUNG_STATES };

/* "moves", "quiet", "hung". */
extern const char *const hung_state_names[HUNG_STATES];

/* State of a job. Zeroed: nothing was heard. Times are the caller's, in microseconds. */
struct hung {
	uint64_t still_us; /* nothing has moved since; 0: it moves, or nobody says */
	uint64_t heard_us; /* last report of that */
	uint64_t pause_us; /* longest pause that ended by itself */
	enum hung_state state;
};

/* What is reported now. */
struct hung_sight {
	uint64_t heard_us; /* last report of a standstill; 0: none */
	uint64_t since_us; /* it stands still since */
	uint64_t moved_us; /* last time a position moved or a step ended; 0: unknown */
	bool sure;	   /* there is a sure sign, which no pause has */
	bool traffic;	   /* its ranks send or receive on the network */
};

/* Updates the state and returns it. */
enum hung_state hung_judge(struct hung *h, const struct hung_sight *sight, uint64_t now_us);

/* How long it may be quiet. */
uint64_t hung_limit_us(const struct hung *h, bool sure);
