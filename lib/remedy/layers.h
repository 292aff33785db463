/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributes the layers of a model among the stages of a pipeline whose hosts differ in speed: the
 * inner problem of Malleus (Li et al., SIGMOD 2025), which Hetu solves as an integer program
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
	const double *slowdown; /* per stage, 1 is good: y */
	const size_t *most;	/* layers that fit in its memory; NULL: no limit */
	size_t stages, layers;
};

/*
 * Finds how many layers each stage takes so that max(y[j] * ret_counts[j]) is least; a stage may
 * get none. Tries the values y[j] * k in ascending order until the stages hold all layers; the
 * excess is taken from the stage with the largest y[j] * ret_counts[j], the first of equals.
 * `ret_slowest` (may be NULL) receives the largest. -ERANGE if memory is too small for all layers,
 * with the shortfall; -EINVAL for input out of bounds.
 */
int layers_assign(const struct layers_wish *wish, size_t *ret_counts, double *ret_slowest,
		  struct err *err);

/* Memory of the stages: (layer * l + embedding at either end) * share + extra <= most. */
struct layers_memory {
	const double *layer; /* per stage: memory for one layer */
	size_t stages;
	double embedding, share, extra, most;
};

/* How many layers fit in the memory of each stage. */
void layers_caps(const struct layers_memory *memory, size_t *ret_most);
