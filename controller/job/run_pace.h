/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the steps of a run take, by its windows of one shape that came in time: what a
 * prediction, or a diagnosis, is held against once the job goes on without hosts.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/job_judging.h"
#include "controller/job/prediction.h"

struct run_pace {
	int64_t run;
	struct prediction_mean mean;
	uint64_t from_us, until_us; /* of all of them; 0: not all say when they were */
};

/* How many ranks, replicas and stages. Two runs of another shape cannot be compared. */
struct run_shape {
	int64_t ranks, dp, pp;
};

/* Of a summary of a window, or of anything that has "ranks", "dp" and "pp". */
struct run_shape run_pace_shape(const json_t *of);

bool run_pace_alike(const struct run_shape *x, const struct run_shape *y);

/* Of the newest run, by those of its windows of this shape that came by `by_us`. There is a window. */
struct run_pace run_pace_of(const struct job_judging_input *in, const struct run_shape *shape,
			    uint64_t by_us);

/* The hosts of the run meanwhile, as far as anybody says: new reference, empty when nobody does. */
int run_pace_hosts(const struct job_judging_input *in, const struct run_pace *pace, json_t **ret,
		   struct err *err);
