/* SPDX-License-Identifier: Apache-2.0 */
/* Investigations (controller/job/investigation.h) as rows of the store: their JSON, as the API
 * shows it. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;
struct store_page;
struct store_range;

enum { STORE_INVESTIGATIONS_OF_JOB = 64 }; /* kept of one; those that are over go beyond it */

/* One to be kept: its "id" is the row's. */
struct store_investigation {
	int64_t id, job;
	uint64_t began_us, ended_us; /* the end 0: it goes on */
	const json_t *body;
};

/* A new one, in the open transaction: its number into `ret_id`. -EIO: the job has one that goes on. */
int store_add_investigation(struct store *s, const struct store_investigation *one, int64_t *ret_id,
			    struct err *err);

/* The same anew. */
int store_put_investigation(struct store *s, const struct store_investigation *one, struct err *err);

/* Newest first, without their tests, diagnoses and pairs. */
int store_investigations(struct store *s, const struct store_range *range, struct store_page *ret,
			 struct err *err);

/* One of them, new reference. -ENOENT. */
int store_investigation(struct store *s, int64_t id, json_t **ret, struct err *err);

/*
 * Of a job: the one that goes on and those that ended since then, newest first, an array; new
 * reference.
 */
int store_investigations_of(struct store *s, int64_t job, uint64_t since_us, json_t **ret,
			    struct err *err);

/* One of another job that goes on and has not ended for the host; NULL: none. New reference. */
int store_investigation_of_host(struct store *s, int64_t job, const char *host, json_t **ret,
				struct err *err);

/* Called with each job that has one that goes on; the job itself may be gone. */
int store_jobs_investigated(struct store *s, void (*each)(void *context, int64_t job),
			    void *context, struct err *err);

/* {state: seconds since the oldest that is in it, and goes on, began}; new reference. */
int store_investigations_oldest(struct store *s, uint64_t now_us, json_t **ret, struct err *err);

/* Drop some that ended before then. 1 when there may be more to drop. */
int store_thin_investigations(struct store *s, uint64_t before_us, struct err *err);
