/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long reports are kept. At first every report is kept whole; then only the first of each hour,
 * then the first of each day, then none. Only the first of a day keeps its body. "First" is among
 * the reports of one host with the same profile and verdict, so that a pass does not hide a fail.
 * Reports that are not pass have longer times of their own. Pure.
 *
 * Only age counts here. store_thin.c ensures that the newest run of a profile and the evidence of
 * an open incident are never deleted.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	/* (host, profile, verdict) tuples per round; beyond that everything is kept. */
	RETENTION_KEYS_MAX = 500000,
	/* How often times may be halved while the store is above its limit. */
	RETENTION_SQUEEZE_MAX = 6,
};

/* Lower limit of halving. */
#define RETENTION_LEAST_US USEC_PER_HOUR

/* Ages of a report, ascending. */
struct retention_ladder {
	uint64_t all_us;    /* all are kept, until */
	uint64_t hourly_us; /* one per hour, until */
	uint64_t daily_us;  /* one per day, until */
};

struct retention {
	struct retention_ladder pass, bad;
	uint64_t incidents_us; /* since an incident was closed */
	uint64_t nodes_us;     /* since a host was last heard of */
};

/* Returns the defaults. */
struct retention retention_init(void);

/* The same with times halved: `pass` that often, `bad` half as often. */
struct retention retention_squeeze(const struct retention *r, unsigned times);

/* How often to halve from now on, with `used` of `max` bytes (0: no limit) used. */
unsigned retention_squeeze_next(unsigned times, uint64_t used, uint64_t max);

/*
 * The time that ages are relative to: the clock, but at most `ahead_us` after the previous time (0:
 * none), so that an hour with a wrong clock costs only a little of the history.
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

/* A pass over all reports, oldest first. */
struct retention_round {
	struct retention retention;
	uint64_t now_us;
	void *tree; /* last report of each host, profile and verdict */
	size_t n;
};

/* Judge the next report of the round: an enum retention_act. */
int retention_judge(struct retention_round *round, const struct retention_row *row);

/* Reports younger than this are not thinned. */
uint64_t retention_youngest_us(const struct retention *r);

void retention_release(struct retention_round *round);
