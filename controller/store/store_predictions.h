/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicted step times of jobs after replacement of the hosts that slow them, made once per run and
 * what it blames, before anything is done, and ended once. If the job is deleted its predictions
 * stay, without a job, as their success is counted per class.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

enum {
	STORE_PREDICTIONS_KEPT = 8192, /* over all jobs */
	STORE_PREDICTIONS_READ = 16,   /* of one job, the newest */
	STORE_PREDICTION_HOSTS = 4096, /* read per run */
};

enum prediction_state {
	PREDICTION_OPEN, /* not tested by a run without these hosts yet */
	PREDICTION_HELD,
	PREDICTION_FAILED,
	PREDICTION_STATES
};

/* Names as in the API, NULL-terminated. */
extern const char *const prediction_state_names[];

/* A row. Texts are borrowed. */
struct store_prediction {
	int64_t id, job, run, window;
	const char *class;
	const char *hosts; /* JSON */
	int64_t ranks, dp, pp;
	double before_s, after_s, low_s, high_s, restart_s;
	uint64_t from_us, until_us, made_us; /* 0: unknown */
	enum prediction_state state;
	uint64_t checked_us;
	int64_t by_run;
	double measured_s;
	int64_t steps;
	const char *instead; /* JSON, or NULL */
};

/* Store one, unless the run has one for the same class and hosts. Returns 1 if it is new, and its
 * number in `ret_id`. */
int store_add_prediction(struct store *s, const struct store_prediction *prediction,
			 int64_t *ret_id, struct err *err);

/* Calls `each` for the newest of the job, newest first; rows are borrowed. */
int store_predictions(struct store *s, int64_t job,
		      void (*each)(void *context, const struct store_prediction *prediction),
		      void *context, struct err *err);

/* End an open one with `prediction` (id, state, checked_us, by_run, measured_s, steps, instead). */
int store_check_prediction(struct store *s, const struct store_prediction *prediction,
			   struct err *err);

/* Of the last `of` predictions of a class that were checked: their number, and how many held. */
struct store_trust {
	uint64_t checked, held;
};
int store_trust(struct store *s, const char *class, uint64_t of, struct store_trust *ret,
		struct err *err);

/* Stored results of each class: {class: {"held", "failed"}}. New reference. */
int store_count_predictions(struct store *s, json_t **ret, struct err *err);

/* Hosts of the run's ranks within a time, by their own reports: names ascending, new reference. */
struct store_run_span {
	const char *job;
	int64_t run;
	uint64_t from_us, until_us;
};
int store_run_hosts(struct store *s, const struct store_run_span *span, json_t **ret,
		    struct err *err);
