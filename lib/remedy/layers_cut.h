/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts layers that differ into the stages of a pipeline whose hosts differ, within their memory:
 * the exact counterpart of layers.h, where all layers are equal and may be anywhere.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum {
	LAYERS_CUT_LAYERS_MAX = 512,
	LAYERS_CUT_STAGES_MAX = 512,
	LAYERS_CUT_WORK_MAX = 1 << 26, /* stages * layers^2 */
};

struct layers_cut_wish {
	const double *seconds;	/* per layer on a good host */
	const double *bytes;	/* per layer; NULL: no limit */
	const double *slowdown; /* per stage, above 0; NULL: all are good */
	size_t layers, stages;
	double room; /* bytes of a stage for layers */
	double ends; /* bytes that the first and last also need (embeddings) */
};

/*
 * Cuts into runs of at least one layer so that the slowest stage takes least and, among those cuts,
 * the sum over the stages is least, which is what fills and drains a pipeline. Exact, by dynamic
 * programming, O(stages * layers^2); of equals the one whose last stages take most. Fills
 * ret_counts[stages]. -ERANGE if there are fewer layers than stages or they do not fit (with the
 * limit, and the shortfall if known), -EINVAL for input out of bounds.
 */
int layers_cut(const struct layers_cut_wish *wish, size_t *ret_counts, struct err *err);

/* Seconds of the slowest stage of a cut. */
double layers_cut_slowest(const struct layers_cut_wish *wish, const size_t *counts);

/* True if the layers of each stage fit. */
bool layers_cut_fits(const struct layers_cut_wish *wish, const size_t *counts);
