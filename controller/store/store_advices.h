/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What whoever started a job was advised (controller/job/advice.h), the newest of each job; the
 * number of one is never used again.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

enum { STORE_ADVICES_KEPT = 64 }; /* of a job */

/* A row. Texts are borrowed. */
struct store_advice {
	int64_t id, job, run;
	int64_t prediction;		    /* 0: none */
	int kind, why;			    /* enum advice_kind, advice_why */
	const char *exclude, *replacements; /* JSON: names */
	const char *reason;
	uint64_t made_us, expires_us, done_us; /* 0: it does not, it is not */
};

/* Keep one; its number into `ret_id`. */
int store_add_advice(struct store *s, const struct store_advice *advice, int64_t *ret_id,
		     struct err *err);

typedef void store_advice_fn(void *context, const struct store_advice *advice);

/* Called with the newest of the job, if it has any; the row is borrowed. */
int store_last_advice(struct store *s, int64_t job, store_advice_fn *take, void *context,
		      struct err *err);

/* ... with that one, if it is of the job. */
int store_advice_by_id(struct store *s, int64_t job, int64_t id, store_advice_fn *take,
		       void *context, struct err *err);

/* Was there one of that kind for the prediction? */
int store_was_advised(struct store *s, int64_t job, int64_t prediction, int kind, bool *ret,
		      struct err *err);

/* It was acknowledged; the first time counts. */
int store_acknowledge_advice(struct store *s, int64_t id, uint64_t now_us, struct err *err);

/* Called with each job whose last advice is of that kind. */
int store_jobs_advised(struct store *s, int kind, void (*each)(void *context, int64_t job),
		       void *context, struct err *err);

/* Does the job run, as its hosts say? False in `ret_known`: no host ever said that it has a rank. */
int store_job_runs(struct store *s, const char *job, uint64_t now_us, bool *ret_known,
		   bool *ret_runs, struct err *err);
