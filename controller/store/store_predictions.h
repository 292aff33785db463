/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jobs were predicted to take a step once the hosts that slow them are replaced, each made
 * once for a run and what it blames, before anything is done about it, and ended once. One whose
 * job is forgotten stays, of no job: how often predictions hold is asked of a class.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

enum {
	STORE_PREDICTIONS_KEPT = 8192, /* of all jobs */
	STORE_PREDICTIONS_READ = 16,   /* of one job, the newest */
	STORE_PREDICTION_HOSTS = 4096, /* of a run, that are read */
};

enum prediction_state {
	PREDICTION_OPEN, /* no run of the job without these hosts has shown it yet */
	PREDICTION_HELD,
	PREDICTION_FAILED,
	PREDICTION_STATES
};

/* Their names, as the API gives them, up to NULL. */
extern const char *const prediction_state_names[];

/* A row. Texts are borrowed. */
struct store_prediction {
	int64_t id, job, run, window;
	const char *class;
	const char *hosts; /* JSON */
	int64_t ranks, dp, pp;
	double before_s, after_s, low_s, high_s, restart_s;
	uint64_t from_us, until_us, made_us; /* 0: not said */
	enum prediction_state state;
	uint64_t checked_us;
	int64_t by_run;
	double measured_s;
	int64_t steps;
	const char *instead; /* JSON, or NULL */
};

/* Keep one, unless there is one of the run for the same class and hosts. 1: it is new. Its
 * number into `ret_id`. */
int store_add_prediction(struct store *s, const struct store_prediction *prediction,
			 int64_t *ret_id, struct err *err);

/* Called with the newest of the job, newest first; rows are borrowed. */
int store_predictions(struct store *s, int64_t job,
		      void (*each)(void *context, const struct store_prediction *prediction),
		      void *context, struct err *err);

/* An open one ends as `prediction` says (id, state, checked_us, by_run, measured_s, steps, instead). */
int store_check_prediction(struct store *s, const struct store_prediction *prediction,
			   struct err *err);

/* Of the last `of` predictions of a class that were checked: how many, and how many held. */
struct store_trust {
	uint64_t checked, held;
};
int store_trust(struct store *s, const char *class, uint64_t of, struct store_trust *ret,
		struct err *err);

/* Of each class that has any: {class: {"held", "failed"}}, those that are kept. New reference. */
int store_count_predictions(struct store *s, json_t **ret, struct err *err);

/* The hosts that ranks of the run were on within a time, as they say themselves: names ascending,
 * new reference. */
struct store_run_span {
	const char *job;
	int64_t run;
	uint64_t from_us, until_us;
};
int store_run_hosts(struct store *s, const struct store_run_span *span, json_t **ret,
		    struct err *err);
