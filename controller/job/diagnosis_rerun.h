/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Did it help to start a job without what its diagnosis excluded? The pace of its last windows
 * before is noted when the diagnosis begins, and held against that of the next run:
 *
 *	"before"	{"run", "step_s", "steps", "ranks", "dp", "pp"}; null: no window of the run
 *			is known
 *	"next"		{"run", "step_s", "steps", "gain" (1 - after / before, null: not known),
 *			"outcome", "sentence", "at"}; null: not so far
 *
 * both of "diagnosis" (diagnosis_record.h). The next run is one with a higher number, of the same
 * shape where that is known, and none of the excluded hosts where somebody says who is in it. It is
 * looked at once, when it has PREDICTION_STEPS steps, within PREDICTION_WAITS_US of the end.
 *Nothing else follows: the state of the investigation stays as it is.
 */
#pragma once

#include <stdint.h>

#include "controller/job/investigation.h"
#include "controller/job/job_judging.h"
#include "controller/job/prediction.h"
#include "lib/base/macro.h"

struct err;
struct service;

/* Two runs of a job that nothing was done to differ by so much. */
#define DIAGNOSIS_RERUN_ALIKE PREDICTION_TOLERANCE

enum diagnosis_rerun_outcome {
	DIAGNOSIS_RERUN_FASTER,
	DIAGNOSIS_RERUN_SAME, /* within what runs differ by */
	DIAGNOSIS_RERUN_SLOWER,
	DIAGNOSIS_RERUN_UNKNOWN, /* what it took before is unknown */
};

/* "faster" "same" "slower" "unknown", up to NULL. */
extern const char *const diagnosis_rerun_outcomes[];

/* Of seconds a step; `before_s` NAN or not above 0: not known. */
int diagnosis_rerun_outcome(double before_s, double after_s);

/* "run 2 without gpu-08: 8.99 s -> 8.31 s a step: faster by 7.6 %"; new memory. */
char *diagnosis_rerun_words(int64_t run, const json_t *excluded, double before_s, double after_s);

/* Note what a step takes as it begins, unless that was done; of windows of its own run. */
void diagnosis_rerun_note(struct investigation *inv, const struct job_judging_input *in);

/* Hold what the diagnoses of the job have excluded against the run that its windows are of. */
int diagnosis_rerun_check(struct service *s, const struct job_judging_input *in, struct err *err);
