/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a diagnosis that a person requests: says what would be done and, in mode enforce, creates
 * the record (diagnosing.h continues it). Objections are reported before anything is stored.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/investigating.h"
#include "controller/job/job_judging.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct service;

/* A job that stands still includes hosts that had ranks of it this recently. */
#define DIAGNOSIS_LATELY_US USEC_PER_DAY

/* Borrowed. */
struct diagnosis_ask {
	const char *who, *reason;
	int64_t run; /* run of the job; 0: that of its last window */
	bool plan;   /* only say what would be done */
};

/*
 * What is or would be done: {"id" (null: nothing begun, as in any mode but enforce), "mode", "job",
 * "job_id", "hosts" [{"node", "domain", "idle"}], "stops", "tests", "rounds", "sentence"}, new
 * reference. With an id it is durable with the next commit. Returns, with a sentence, -EALREADY if
 * something is in the way, -EINVAL if it is impossible, -EAGAIN if not possible now; or errors of
 * the store.
 */
int diagnosis_plan_begin(struct investigating *k, struct service *s,
			 const struct job_judging_input *in, const struct diagnosis_ask *ask,
			 json_t **ret, struct err *err);
