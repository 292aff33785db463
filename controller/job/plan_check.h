/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan promised and a later run kept: the plan of the last window of the run before is held
 * against what the newest run takes a step, where one of its remedies, and it alone, is seen to
 *have been applied. What a window carries shows of
 *
 *	replace		the same shape, and of the hosts just those of a set have gone
 *	drop-replica	so many replicas fewer, on hosts of before, with the batch kept: the others
 *			have as many micro-batches more as were promised
 *	sequences, gc,	the same shape and hosts, and the remedy has at most half of that to give
 *	stage, data	any more; that who gave it was the owner nobody knows
 *
 * and nothing of micro-batches or layers that were dealt unevenly. What was promised holds as
 * predictions do (prediction.h): within the interval, or PREDICTION_TOLERANCE of the promise. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/plan_facts.h"
#include "controller/job/prediction.h"
#include "controller/job/run_pace.h"

/* A run, by one of its windows. */
struct plan_check_run {
	int64_t run, window;
	struct run_shape shape;
	const struct plan_facts *facts;
	const struct remedies *remedies;
};

/* What came of a remedy: an array of one object, or an empty one; new reference. */
json_t *plan_check(const struct plan_check_run *before, const struct plan_check_run *now,
		   const struct prediction_mean *measured);
