/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of a model dealt to the stages of a pipeline whose hosts differ in speed: the inner
 * problem of Malleus (Li et al., SIGMOD 2025), which Hetu solves as an integer program
 * (PKU-DAIR/Hetu 9e47240, engine/strategy.py); here exactly and without a solver.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum {
	LAYERS_STAGES_MAX = 4096,
	LAYERS_MAX = 4096,
	LAYERS_WORK_MAX = 1 << 24, /* stages * layers */
};

struct layers_wish {
	const double *slowdown; /* of each stage, 1 for a good one: y */
	const size_t *most;	/* layers that it has the memory for; NULL: any */
	size_t stages, layers;
};

/*
 * How many layers each stage takes so that max(y[j] * ret_counts[j]) is least. A stage may get
 * none. Tries the values y[j] * k in ascending order until the stages hold all layers; what
 * they hold too much is taken from the one with the largest y[j] * ret_counts[j], the first of
 * equals. The largest in `ret_slowest` (may be NULL). -ERANGE when the memory holds fewer
 * layers than there are, by how many; -EINVAL for a wish out of its bounds.
 */
int layers_assign(const struct layers_wish *wish, size_t *ret_counts, double *ret_slowest,
		  struct err *err);

/* The memory of the stages: (layer * l + embedding at either end) * share + extra <= most. */
struct layers_memory {
	const double *layer; /* of each stage: what a layer takes there */
	size_t stages;
	double embedding, share, extra, most;
};

/* The layers that each stage has the memory for. */
void layers_caps(const struct layers_memory *memory, size_t *ret_most);
