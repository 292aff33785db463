/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confidence intervals of numbers computed from steps, by the moving block bootstrap (Kuensch
 * 1989). Successive steps are correlated, so blocks of BOOTSTRAP_BLOCK steps are drawn with
 * replacement, as many as cover the trace, and the number is computed again for each draw. Steps
 * are simulated only once: a draw consists of means of their times.
 *
 *	struct bootstrap b = bootstrap_new(n_steps, BOOTSTRAP_DRAWS);
 *	bootstrap_means(&b, times, means);              means[0] of all steps, then of each draw
 *	interval = bootstrap_interval(&b, values);      of a formula on such means, draw by draw
 *
 * The draws depend only on the two sizes, so results are reproducible. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	BOOTSTRAP_BLOCK = 4,	  /* steps */
	BOOTSTRAP_DRAWS = 200,	  /* by default */
	BOOTSTRAP_DRAWS_MIN = 40, /* so that each end of an interval has a draw beyond it */
	BOOTSTRAP_DRAWS_MAX = 10000,
	BOOTSTRAP_STEPS_MIN = 10, /* with fewer, blocks differ too little to be useful */
};

struct bootstrap {
	size_t n_steps, n_draws, n_blocks;
	uint32_t *starts; /* owned: [draw * n_blocks + i], first step of a block */
};

/* A number with its 95 % interval; both ends are NAN if there are too few steps. */
struct interval {
	double value, low, high;
};

/* Make all draws: 1 to BOOTSTRAP_DRAWS_MAX of them, of at least one step. */
struct bootstrap bootstrap_new(size_t n_steps, size_t n_draws);
void bootstrap_release(struct bootstrap *bootstrap);

/* Are there enough steps for an interval? */
bool bootstrap_is_enough(const struct bootstrap *bootstrap);

/* Compute the mean time of all steps into means[0], of draw i into means[1 + i]. */
void bootstrap_means(const struct bootstrap *bootstrap, const double *times, double *ret_means);

/*
 * Interval of values[0] from its draws values[1 ...]: the 2.5 and 97.5 percentiles, moved away
 * from the value by sqrt(n / (n - 1)) for n blocks, because draws of few blocks vary too little.
 * Sorts the draws. If any draw is NAN, both ends are.
 */
struct interval bootstrap_interval(const struct bootstrap *bootstrap, double *values);
