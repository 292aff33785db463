/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice given to those who started jobs (controller/job/advice.h), the newest of each job; numbers
 * are never reused.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

enum { STORE_ADVICES_KEPT = 64 }; /* per job */

/* A row. Texts are borrowed. */
struct store_advice {
	int64_t id, job, run;
	int64_t prediction;		    /* 0: none */
	int kind, why;			    /* enum advice_kind, advice_why */
	const char *exclude, *replacements; /* JSON: names */
	const char *reason;
	uint64_t made_us, expires_us, done_us; /* 0: does not expire, not done */
};

/* Store one; returns its number in `ret_id`. */
int store_add_advice(struct store *s, const struct store_advice *advice, int64_t *ret_id,
		     struct err *err);

typedef void store_advice_fn(void *context, const struct store_advice *advice);

/* Calls `take` with the newest of the job, if any; the row is borrowed. */
int store_last_advice(struct store *s, int64_t job, store_advice_fn *take, void *context,
		      struct err *err);

/* ... with that one, if it belongs to the job. */
int store_advice_by_id(struct store *s, int64_t job, int64_t id, store_advice_fn *take,
		       void *context, struct err *err);

/* Was there one of that kind for the prediction? */
int store_was_advised(struct store *s, int64_t job, int64_t prediction, int kind, bool *ret,
		      struct err *err);

/* It was acknowledged; only the first time counts. */
int store_acknowledge_advice(struct store *s, int64_t id, uint64_t now_us, struct err *err);

/* Calls `each` for each job whose last advice is of that kind. */
int store_jobs_advised(struct store *s, int kind, void (*each)(void *context, int64_t job),
		       void *context, struct err *err);

/* Does the job run according to its hosts? `ret_known` false: none ever reported a rank of it. */
int store_job_runs(struct store *s, const char *job, uint64_t now_us, bool *ret_known,
		   bool *ret_runs, struct err *err);
