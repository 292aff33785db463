/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Step time of a run, from its windows of one shape that arrived in time: predictions and diagnoses
 * are compared with it once the job goes on without some hosts.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/job_judging.h"
#include "controller/job/prediction.h"

struct run_pace {
	int64_t run;
	struct prediction_mean mean;
	uint64_t from_us, until_us; /* of all windows; 0: unknown for some */
};

/* Number of ranks, replicas and stages. Runs of different shape cannot be compared. */
struct run_shape {
	int64_t ranks, dp, pp;
};

/* From a window's summary, or any object with "ranks", "dp" and "pp". */
struct run_shape run_pace_shape(const json_t *of);

bool run_pace_alike(const struct run_shape *x, const struct run_shape *y);

/* For the newest run, from its windows of this shape that arrived by `by_us`. There must be a
 * window. */
struct run_pace run_pace_of(const struct job_judging_input *in, const struct run_shape *shape,
			    uint64_t by_us);

/* Known hosts of the run in that time: new reference, empty if unknown. */
int run_pace_hosts(const struct job_judging_input *in, const struct run_pace *pace, json_t **ret,
		   struct err *err);
