/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the store small: passes over everything that grows, oldest first, in steps of a few
 * milliseconds. The changes of a step are part of the open transaction: they become durable with
 * the next batch of reports or are rolled back with it, and the next round then finds them again.
 * No state of a round has to survive a restart.
 */
#pragma once

#include <stdint.h>

#include "controller/store/retention.h"

struct err;
struct store;

struct retention_job_counts {
	uint64_t rounds, reports, bodies, boots, incidents, nodes;
};

struct retention_job {
	struct retention retention;
	uint64_t max_bytes; /* above it times are halved; 0: no limit */
	unsigned squeeze;   /* how often they are halved now */
	struct retention_job_counts counts;
	/* A host was forgotten. */
	void (*forgotten)(void *context, const char *node);
	void *context;

	bool running;
	bool again; /* the last round failed: run another */
	unsigned stage;
	int64_t after;		      /* rowid of the last row visited */
	struct retention_round round; /* its now_us is what ages are relative to */
	uint64_t round_mono_us;	      /* begin of the last round; 0: none */
};

/* Begin a round at this time, by both clocks. */
int retention_job_begin(struct retention_job *t, struct store *store, uint64_t real_us,
			uint64_t mono_us, struct err *err);

/* Continue until the monotonic `deadline_us`. Returns 1 while there is more to do, 0 at the end. */
int retention_job_step(struct retention_job *t, struct store *store, uint64_t deadline_us,
		       struct err *err);

/* The transaction of the last steps failed: they have to be repeated. */
void retention_job_failed(struct retention_job *t);

void retention_job_release(struct retention_job *t);
