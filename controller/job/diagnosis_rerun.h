/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was it worth starting a job without the hosts that its diagnosis excluded? The pace of the last
 * windows before is recorded when the diagnosis begins, and compared with that of the next run:
 *
 *   "before"  {"run", "step_s", "steps", "ranks", "dp", "pp"}; null: no window of the run is known
 *   "next"    {"run", "step_s", "steps", "gain" (1 - after / before, null: unknown),
 *             "outcome", "sentence", "at"}; null: not yet
 *
 * both in "diagnosis" (diagnosis_record.h). The next run is one with a higher number, the same
 * shape if that is known, and without the excluded hosts if its hosts are known. It is compared
 * once it has PREDICTION_STEPS steps, within PREDICTION_WAITS_US of the end. The result has no
 * consequences: the state of the investigation stays as it is.
 */
#pragma once

#include <stdint.h>

#include "controller/job/investigation.h"
#include "controller/job/job_judging.h"
#include "controller/job/prediction.h"
#include "lib/base/macro.h"

struct err;
struct service;

/* Difference between two runs of a job without any change. */
#define DIAGNOSIS_RERUN_ALIKE PREDICTION_TOLERANCE

enum diagnosis_rerun_outcome {
	DIAGNOSIS_RERUN_FASTER,
	DIAGNOSIS_RERUN_SAME, /* within DIAGNOSIS_RERUN_ALIKE */
	DIAGNOSIS_RERUN_SLOWER,
	DIAGNOSIS_RERUN_UNKNOWN, /* the pace before is unknown */
};

/* "faster" "same" "slower" "unknown", NULL-terminated. */
extern const char *const diagnosis_rerun_outcomes[];

/* Seconds per step; `before_s` NAN or not above 0: unknown. */
int diagnosis_rerun_outcome(double before_s, double after_s);

/* "run 2 without gpu-08: 8.99 s -> 8.31 s a step: faster by 7.6 %". New memory. */
char *diagnosis_rerun_words(int64_t run, const json_t *excluded, double before_s, double after_s);

/* Record the time per step at the beginning, if not done yet, from windows of its own run. */
void diagnosis_rerun_note(struct investigation *inv, const struct job_judging_input *in);

/* Compare the run of the input's windows with the job's diagnoses. */
int diagnosis_rerun_check(struct service *s, const struct job_judging_input *in, struct err *err);
