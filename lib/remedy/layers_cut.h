/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that differ, cut into the stages of a pipeline whose hosts differ, within their memory:
 * the exact counterpart of layers.h, whose layers are all alike and lie anywhere.
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
	const double *seconds;	/* of each layer on a good host */
	const double *bytes;	/* of each layer; NULL: not bounded */
	const double *slowdown; /* of each stage, above 0; NULL: all are good */
	size_t layers, stages;
	double room; /* bytes that a stage has for layers */
	double ends; /* bytes that the first and the last need besides (embeddings) */
};

/*
 * Cut into runs of at least one layer so that the slowest stage is the least, and of those ways so
 * that the stages together take least: what fills and drains a pipeline. Exact, by dynamic
 * programming, O(stages * layers^2); of equals the one whose last stages take most.
 * ret_counts[stages]. -ERANGE when there are fewer layers than stages or they do not fit (which
 * bound, and by how much where that is known), -EINVAL for a wish out of its bounds.
 */
int layers_cut(const struct layers_cut_wish *wish, size_t *ret_counts, struct err *err);

/* Seconds of the slowest stage of a cut. */
double layers_cut_slowest(const struct layers_cut_wish *wish, const size_t *counts);

/* Do the layers of each stage fit? */
bool layers_cut_fits(const struct layers_cut_wish *wish, const size_t *counts);
