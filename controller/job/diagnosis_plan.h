/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person asks for the diagnosis of a job: what would be done, and, in mode enforce, the record
 * with which it begins (diagnosing.h goes on with it). What stands against it is said before
 * anything is kept.
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

/* Who had ranks of a job that stands still had them so lately. */
#define DIAGNOSIS_LATELY_US USEC_PER_DAY

/* Borrowed. */
struct diagnosis_ask {
	const char *who, *reason;
	int64_t run; /* of the job; 0: that of its last window */
	bool plan;   /* only say what would be done */
};

/*
 * What is, or would be, done: {"id" (null: nothing was begun, as in any mode but enforce), "mode",
 * "job", "job_id", "hosts" [{"node", "domain", "idle"}], "stops", "tests", "rounds", "sentence"},
 * new reference. With an id it is durable with the next commit. -EALREADY: something is in its way;
 * -EINVAL: it cannot be; -EAGAIN: not now; each with a sentence. Others of the store.
 */
int diagnosis_plan_begin(struct investigating *k, struct service *s,
			 const struct job_judging_input *in, const struct diagnosis_ask *ask,
			 json_t **ret, struct err *err);
