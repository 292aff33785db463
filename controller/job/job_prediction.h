/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictions for a job: stored, and compared with its next run (prediction.h has the formulas).
 *
 * - the gain of replacing the hosts of a suspect is that of the newest window that blames it. It is
 *   the gain of all suspects of the window together, so the prediction covers all of them;
 * - it is stored when one of the hosts is to be taken out, in the transaction before the actor is
 *   told; before that, and in other modes, it is only shown. If jobs.busy is `drain` the same is
 *   done for a host that cannot be tested because of its job, once it has cost, since it is a
 *   suspect, as much as a restart (ski rental: whoever then pays for the restart has paid at most
 *   twice the optimum);
 * - it waits, for at most PREDICTION_WAITS_US, for a run with a higher number and the same shape
 *   that does not use any of these hosts (according to hosts or pods; assumed if unknown) to have
 *   PREDICTION_STEPS steps;
 * - a class whose predictions fail no longer evicts. Its predictions are still made: a host that
 *   other rules took out shows whether the class can be trusted again.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/job_judging.h"
#include "controller/job/prediction.h"
#include "lib/base/macro.h"
#include "lib/policy/blame.h"
#include "lib/policy/policy_jobs.h"

struct err;
struct store;

/* Which classes are not trusted to evict, by enum blame_class. */
int job_prediction_distrusted(struct store *store, const struct policy_jobs *jobs,
			      bool ret[static BLAME_CLASSES], struct err *err);

/* The stored prediction for the hosts to be replaced now, those to be taken out first. */
struct job_predicted {
	int64_t id; /* 0: none */
	struct prediction numbers;
	json_t *hosts; /* owned */
	bool to_test;  /* they are to be tested without jobs first */
};
void job_prediction_release(struct job_predicted *predicted);

/*
 * A job was judged: store predictions for the hosts it evicts, and compare earlier ones with the
 * run of its windows. Returns 1 if something was written. `view`, the job as shown from now on,
 * gets "prediction" if one is only shown, else null.
 */
int job_prediction_judged(const struct job_judging_input *in, const struct job_judged *judged,
			  int64_t job, json_t *view, struct job_predicted *ret, struct err *err);

/*
 * Add to a job as shown by the API: "prediction", the last one stored, unless `job` has a newer one
 * that is only shown; and "verified", the last one compared with a run; null: none. Includes how
 * far its class is trusted.
 */
int job_prediction_show(struct store *store, const struct policy_jobs *jobs, int64_t id,
			uint64_t now_us, json_t *job, struct err *err);

/* Results of the predictions of each class: {class: {"held", "failed", "poor"}}. New reference. */
int job_prediction_counts(struct store *store, const struct policy_jobs *jobs, json_t **ret,
			  struct err *err);
