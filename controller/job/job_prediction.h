/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is predicted of a job, kept, and held against its next run (prediction.h has the formulas).
 *
 *  - what replacing the hosts of a suspect would gain is said by the newest window that blames it.
 *    That is the gain of all the window's suspects together, so the prediction is of all of them;
 *  - it is kept when a host of them is to be taken out of service, in the transaction that the
 *    actor is told after; before that, and in other modes, it is shown and not kept. Where
 *    jobs.busy is `drain` a host that its job keeps from being tested is kept likewise, once what
 *    it has cost since it is a suspect is what a restart costs (ski rental: who then pays for
 *    the restart has paid at most twice what the best guess would have);
 *  - it waits for a run with a higher number and the same shape on which none of these hosts is
 *    (where hosts or pods say so: of a run whose hosts nobody tells it is taken to be so), until
 *    that has PREDICTION_STEPS steps, for at most PREDICTION_WAITS_US;
 *  - a class whose predictions do not hold evicts no more. What it would have evicted is predicted
 *    all the same: a host that other rules took out shows whether the class is to be trusted again.
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

/* What is kept of hosts that are to be replaced now, those first that are to be taken out. */
struct job_predicted {
	int64_t id; /* 0: there are none */
	struct prediction numbers;
	json_t *hosts; /* owned */
	bool to_test;  /* they are to be tested without jobs first */
};
void job_prediction_release(struct job_predicted *predicted);

/*
 * A job was judged: keep what is predicted of whom it evicts, and hold what was predicted against
 * the run that its windows are of. 1: something was written. `view`, what is shown of the job from
 * now on, gets "prediction" where one is only shown, else null.
 */
int job_prediction_judged(const struct job_judging_input *in, const struct job_judged *judged,
			  int64_t job, json_t *view, struct job_predicted *ret, struct err *err);

/*
 * Put into what the API shows of a job: "prediction", the last one kept unless `job` has a newer
 * one that is only shown, and "verified", the last one that was held against a run; null: there is
 * none. With how far its class is trusted.
 */
int job_prediction_show(struct store *store, const struct policy_jobs *jobs, int64_t id,
			uint64_t now_us, json_t *job, struct err *err);

/* How predictions of each class did: {class: {"held", "failed", "poor"}}, new reference. */
int job_prediction_counts(struct store *store, const struct policy_jobs *jobs, json_t **ret,
			  struct err *err);
