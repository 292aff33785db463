/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of packs of sequences, and the speed of workers, if packs differ.
 *
 * A pipeline with longer sequences is not a slow pipeline. Stages of a pipeline process the same
 * packs, so differences between stages are due to the workers. Of the differences between
 * pipelines only the part that chance does not explain is attributed to workers: with s2 the
 * variance of the pipelines' means and v the variance that random dealing gives such a mean, 1 -
 * v / s2 of it (Efron and Morris, JASA 68, 1973: empirical Bayes).
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/attribution.h"

struct pack_pace {
	double work;	  /* compute seconds per step of a stage, mean of all workers */
	double pipelines; /* seconds per step of the slowest pipeline, computes only */
	double noise;	  /* standard deviation of the logarithm of one operation */
	double *slowdown; /* owned: [d * pp + stage], relative to the middle of its stage */
};

/* Only for jobs with one chunk per stage. */
struct pack_pace pack_pace_of(const struct attribution *attribution);
void pack_pace_release(struct pack_pace *pace);
