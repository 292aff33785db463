/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcome of each suspicion, and how long its host was idle until then. A suspicion lasts from
 * when a host becomes a suspect of any job until it is decided or no job suspects it any more.
 *
 * Idle time counts from the first minute in which no job runs on the suspect. A decision is the
 * last result of the job judge: tests confirm it (it is to be cordoned, whether or not a budget
 * refuses), tests acquit it, tests show slow silicon, or the tests are inconclusive.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct job_judge_item;
struct sim;

/* How a suspicion ends. */
enum job_wait_end {
	WAIT_OPEN,
	WAIT_EVICT,
	WAIT_ACQUITTED,
	WAIT_CANNOT_TELL, /* or its setup differs */
	WAIT_CLEARED,	  /* no longer suspected, and it was never idle */
	WAIT_LAPSED,	  /* no longer suspected, but it was idle: should have been decided */
	WAIT_ENDS
};

/* Per-host state. */
struct job_wait {
	uint64_t since_us, idle_us, ordered_us, answered_us; /* 0: not yet */
	int end;					     /* enum job_wait_end */
	bool now;					     /* suspected this minute */
};

/* Durations of one kind, in seconds. Owned. */
struct job_times {
	double *s;
	size_t n;
};

struct job_waits {
	struct job_wait *hosts; /* per host */
	uint64_t ends[WAIT_ENDS];
	uint64_t idle; /* suspicions whose host became idle */
	struct job_times to_order, to_answer, to_decided, to_acquitted, to_evict;
};

void job_times_add(struct job_times *times, uint64_t from_us, uint64_t to_us);
void job_times_sort(struct job_times *times);
/* Returns {"hosts", "p50", "p95"}, a new reference. */
json_t *job_times_encode(const struct job_times *times);

void job_waits_begin(struct job_waits *waits, size_t hosts);
void job_waits_release(struct job_waits *waits);

/* Start of a minute's judging; a suspect (K of N) was judged; all of them were. */
void job_waits_minute(struct sim *s);
void job_waits_judged(struct sim *s, size_t host, const struct job_judge_item *item);
void job_waits_settle(struct sim *s);

/* A test of a host was ordered; it ended. */
void job_waits_ordered(struct sim *s, size_t host);
void job_waits_tested(struct sim *s, size_t host);

/* After the last minute. */
void job_waits_end(struct job_waits *waits);

/* Returns a new reference. */
json_t *job_waits_encode(const struct job_waits *waits);
