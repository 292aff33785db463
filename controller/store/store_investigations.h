/* SPDX-License-Identifier: Apache-2.0 */
/* Investigations (controller/job/investigation.h) as rows of the store: their JSON, as shown by the
 * API. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;
struct store_page;
struct store_range;

enum { STORE_INVESTIGATIONS_OF_JOB = 64 }; /* kept per job; beyond that finished ones are deleted */

/* An investigation to store: its "id" is the row's. */
struct store_investigation {
	int64_t id, job;
	uint64_t began_us, ended_us; /* ended_us 0: in progress */
	const json_t *body;
};

/* Add one in the open transaction; sets its number in `ret_id`. -EIO: the job has an open one. */
int store_add_investigation(struct store *s, const struct store_investigation *one, int64_t *ret_id,
			    struct err *err);

/* Update one. */
int store_put_investigation(struct store *s, const struct store_investigation *one, struct err *err);

/* Newest first, without their tests, diagnoses and pairs. */
int store_investigations(struct store *s, const struct store_range *range, struct store_page *ret,
			 struct err *err);

/* An investigation, new reference. -ENOENT. */
int store_investigation(struct store *s, int64_t id, json_t **ret, struct err *err);

/*
 * Of a job: the open one, and those that ended since then, newest first: an array, new reference.
 */
int store_investigations_of(struct store *s, int64_t job, uint64_t since_us, json_t **ret,
			    struct err *err);

/* An open one of another job that is still concerned with the host; NULL: none. New reference. */
int store_investigation_of_host(struct store *s, int64_t job, const char *host, json_t **ret,
				struct err *err);

/* Calls `each` for each job with an open one; the job itself may be gone. */
int store_jobs_investigated(struct store *s, void (*each)(void *context, int64_t job),
			    void *context, struct err *err);

/* {state: seconds since the oldest open one in that state began}. New reference. */
int store_investigations_oldest(struct store *s, uint64_t now_us, json_t **ret, struct err *err);

/* Delete some that ended before then. Returns 1 if there may be more to delete. */
int store_thin_investigations(struct store *s, uint64_t before_us, struct err *err);
