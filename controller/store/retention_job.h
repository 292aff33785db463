/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the store small: rounds through all that grows, oldest first, in steps
 * of a few milliseconds. What a step does is part of the open transaction, so
 * it becomes durable with the next batch of reports, or goes with it; the round
 * after finds again what was left. Nothing of a round must survive a restart.
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
	bool again; /* the last round failed: another is due */
	unsigned stage;
	int64_t after;		      /* number of the last row that was looked at */
	struct retention_round round; /* its now_us is what ages count from */
	uint64_t round_mono_us;	      /* when the last one began; 0: none did */
};

/* Begin a round at this time of both clocks. */
int retention_job_begin(struct retention_job *t, struct store *store, uint64_t real_us,
			uint64_t mono_us, struct err *err);

/* Go on with it until the monotonic `deadline_us`. 1 while there is more to do, 0 at its end. */
int retention_job_step(struct retention_job *t, struct store *store, uint64_t deadline_us,
		       struct err *err);

/* The transaction of the last steps failed: what they did is to be done again. */
void retention_job_failed(struct retention_job *t);

void retention_job_release(struct retention_job *t);
