/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer that takes long is worked out a slice at a time between other work, so that reports and
 * orders do not wait for it. The call is held meanwhile; when nobody waits for it any more the work
 * ends.
 */
#pragma once

struct call;
struct err;
struct service;

enum { BACKGROUND_JOB_MAX = 4 }; /* at once */

struct background_job_work {
	/* A few milliseconds' work: 1 when there is more, 0 at the end; < 0 refuses as the store
	 * does. */
	int (*step)(void *context, struct err *err);
	/* It is done: answer the call. */
	void (*answer)(void *context, struct call *call);
	void (*release)(void *context);
	const char *too_long; /* said with 422 when SLICED_MOST_US were not enough */
};

/* Takes `context`, in every case; `work` has to last. 503 when BACKGROUND_JOB_MAX are under way. */
void background_job_begin(struct service *s, struct call *call,
			  const struct background_job_work *work, void *context);
