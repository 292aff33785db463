/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes an answer that takes long in slices between other work, so that reports and orders are
 * not delayed. The call is held meanwhile; if its peer goes away the work is dropped.
 */
#pragma once

struct call;
struct err;
struct service;

enum { BACKGROUND_JOB_MAX = 4 }; /* at a time */

struct background_job_work {
	/* A few milliseconds of work. Returns 1 if there is more, 0 at the end; < 0 refuses the
	 * call like an error of the store. */
	int (*step)(void *context, struct err *err);
	/* All done: answer the call. */
	void (*answer)(void *context, struct call *call);
	void (*release)(void *context);
	const char *too_long; /* message for 422 if the time limit is exceeded */
};

/* Always takes ownership of `context`; `work` must remain valid. 503 if BACKGROUND_JOB_MAX are
 * running. */
void background_job_begin(struct service *s, struct call *call,
			  const struct background_job_work *work, void *context);
