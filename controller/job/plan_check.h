/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares plans with later runs: the plan from the last window of the previous run with the time
 * per step of the newest run, if exactly one of its remedies is seen to have been applied. A window
 * shows
 *
 *   replace         the same shape, and exactly the hosts of a set are gone
 *   drop-replica    that many replicas fewer, on hosts from before, with the same batch: the
 *                   others have as many more micro-batches as predicted
 *   sequences, gc,  the same shape and hosts, and the remedy has at most half of its gain
 *   stage, data     left; whether the owner applied it is not known
 *
 * and nothing about an uneven distribution of micro-batches or layers. The gain is confirmed as
 * predictions are (prediction.h): within the interval, or within PREDICTION_TOLERANCE. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/plan_facts.h"
#include "controller/job/prediction.h"
#include "controller/job/run_pace.h"

/* A run, represented by one of its windows. */
struct plan_check_run {
	int64_t run, window;
	struct run_shape shape;
	const struct plan_facts *facts;
	const struct remedies *remedies;
};

/* The result for a remedy: an array with one object, or an empty one. New reference. */
json_t *plan_check(const struct plan_check_run *before, const struct plan_check_run *now,
		   const struct prediction_mean *measured);
