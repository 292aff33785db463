/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a suspicion, and how long its host was idle until then: each time that a host
 * becomes a suspect, of whatever job, until that is decided or nobody suspects it any more.
 *
 * Idle counts from the first minute on in which no job runs on the suspect. Decided is what the
 * judge of jobs says of it last: that tests agree (it is to be taken out, whether a budget then
 * refuses or not), that they acquit it, that they show slow silicon, or that nobody can tell.
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
	WAIT_CANNOT_TELL, /* or it is set up otherwise */
	WAIT_CLEARED,	  /* nobody suspects it any more, and it was never idle */
	WAIT_LAPSED,	  /* likewise, and it was idle: it should have been decided */
	WAIT_ENDS
};

/* One host. */
struct job_wait {
	uint64_t since_us, idle_us, ordered_us, answered_us; /* 0: not yet */
	int end;					     /* enum job_wait_end */
	bool now;					     /* a job suspects it this minute */
};

/* Durations of one kind, in seconds. Owned. */
struct job_times {
	double *s;
	size_t n;
};

struct job_waits {
	struct job_wait *hosts; /* of each host */
	uint64_t ends[WAIT_ENDS];
	uint64_t idle; /* suspicions whose host came to be idle */
	struct job_times to_order, to_answer, to_decided, to_acquitted, to_evict;
};

void job_times_add(struct job_times *times, uint64_t from_us, uint64_t to_us);
void job_times_sort(struct job_times *times);
/* {"hosts", "p50", "p95"}: new reference. */
json_t *job_times_encode(const struct job_times *times);

void job_waits_begin(struct job_waits *waits, size_t hosts);
void job_waits_release(struct job_waits *waits);

/* A minute begins to be judged; a suspect was judged, K of N; all of them were. */
void job_waits_minute(struct sim *s);
void job_waits_judged(struct sim *s, size_t host, const struct job_judge_item *item);
void job_waits_settle(struct sim *s);

/* A test of a host was ordered; it ended. */
void job_waits_ordered(struct sim *s, size_t host);
void job_waits_tested(struct sim *s, size_t host);

/* After the last minute. */
void job_waits_end(struct job_waits *waits);

/* New reference. */
json_t *job_waits_encode(const struct job_waits *waits);
