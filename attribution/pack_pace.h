/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What packs of sequences take, and how fast workers are at them, when the packs are not alike.
 *
 * A pipeline that got longer sequences is not a slow one. Stages of a pipeline have the same packs,
 * so what differs between them is theirs. Between pipelines as much of the difference is taken to
 * be theirs as chance does not explain: with s2 the variance of the pipelines' means and v what
 * dealing gives such a mean, 1 - v / s2 of it (Efron and Morris, JASA 68, 1973: empirical Bayes).
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/attribution.h"

struct pack_pace {
	double work;	  /* seconds of a step that a stage computes, the mean of all workers */
	double pipelines; /* of a step, the slowest pipeline, if it did nothing but compute */
	double noise;	  /* of one operation: standard deviation of its logarithm */
	double *slowdown; /* owned: [d * pp + stage]: against the middle of its stage */
};

/* Of a job whose stages have one chunk. */
struct pack_pace pack_pace_of(const struct attribution *attribution);
void pack_pace_release(struct pack_pace *pace);
