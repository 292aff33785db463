/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the past is kept for how long. A report is whole at first; then the
 * first of each hour is left, then the first of each day, then nothing. Only
 * the first of a day keeps its body. "First" is among the reports of one host
 * with the same profile and the same verdict: a fail is not hidden by a pass.
 * What is not pass goes up a ladder of its own, which is longer. Pure.
 *
 * Here only age counts. That the newest run of a profile and the evidence of
 * an open incident never go is the store's to see (store_thin.c).
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	/* (host, profile, verdict) of one round; of more than this all is kept. */
	RETENTION_KEYS_MAX = 500000,
	/* Times are halved at most so often while the store is above its limit. */
	RETENTION_SQUEEZE_MAX = 6,
};

/* Halving goes no further than this. */
#define RETENTION_LEAST_US USEC_PER_HOUR

/* Ages of a report; each at least the one before. */
struct retention_ladder {
	uint64_t all_us;    /* whole, until */
	uint64_t hourly_us; /* one an hour, until */
	uint64_t daily_us;  /* one a day, until */
};

struct retention {
	struct retention_ladder pass, bad;
	uint64_t incidents_us; /* since an incident was closed */
	uint64_t nodes_us;     /* since a host was last heard of */
};

/* The defaults. */
struct retention retention_init(void);

/* The same with its ladders halved: `pass` so many times, `bad` half as many. */
struct retention retention_squeeze(const struct retention *r, unsigned times);

/* How many times to halve next, now that `used` of `max` bytes are used (0: no limit). */
unsigned retention_squeeze_next(unsigned times, uint64_t used, uint64_t max);

/*
 * The time that ages count from: the clock's, but never more than `ahead_us`
 * beyond the one before (0: there was none), so that an hour with a wrong clock
 * costs a little of the past and not all of it.
 */
uint64_t retention_clock(uint64_t before_us, uint64_t real_us, uint64_t ahead_us);

enum retention_act {
	RETAIN_WHOLE,
	RETAIN_LEAN, /* without its body */
	RETAIN_NOT,
};

struct retention_row {
	int64_t node;
	const char *profile; /* or NULL */
	int level;	     /* enum verdict_level */
	uint64_t seen_us;
};

/* One way through all reports, oldest first. */
struct retention_round {
	struct retention retention;
	uint64_t now_us;
	void *tree; /* what was the last of each host, profile and verdict */
	size_t n;
};

/* Judge the next report of the round: an enum retention_act. */
int retention_judge(struct retention_round *round, const struct retention_row *row);

/* Younger than this nothing is thinned. */
uint64_t retention_youngest_us(const struct retention *r);

void retention_release(struct retention_round *round);
