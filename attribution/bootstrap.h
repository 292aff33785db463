/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How sure a number is that was found of some steps: the moving block bootstrap
 * (Kuensch 1989). Steps in a row are alike, so blocks of BOOTSTRAP_BLOCK of them are drawn
 * with repetition, as many as the trace is long, and the number is found again of each
 * draw. Steps are simulated once: a draw is means of their times.
 *
 *	struct bootstrap b = bootstrap_new(n_steps, BOOTSTRAP_DRAWS);
 *	bootstrap_means(&b, times, means);              means[0] of all steps, then of each draw
 *	interval = bootstrap_interval(&b, values);      of a formula on such means, draw by draw
 *
 * The draws depend on the two sizes alone, so an answer can be repeated. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	BOOTSTRAP_BLOCK = 4,	  /* steps */
	BOOTSTRAP_DRAWS = 200,	  /* by default */
	BOOTSTRAP_DRAWS_MIN = 40, /* so that each end of an interval has one beyond it */
	BOOTSTRAP_DRAWS_MAX = 10000,
	BOOTSTRAP_STEPS_MIN = 10, /* of fewer, blocks differ too little to say anything */
};

struct bootstrap {
	size_t n_steps, n_draws, n_blocks;
	uint32_t *starts; /* owned: [draw * n_blocks + i], first step of a block */
};

/* A number with its 95 % interval; both ends are NAN where the steps are too few. */
struct interval {
	double value, low, high;
};

/* All draws, 1 to BOOTSTRAP_DRAWS_MAX of them, of at least one step. */
struct bootstrap bootstrap_new(size_t n_steps, size_t n_draws);
void bootstrap_release(struct bootstrap *bootstrap);

/* Are there steps enough for an interval? */
bool bootstrap_is_enough(const struct bootstrap *bootstrap);

/* The mean of the times of all steps into means[0], of draw i into means[1 + i]. */
void bootstrap_means(const struct bootstrap *bootstrap, const double *times, double *ret_means);

/*
 * Of values[0] and its draws values[1 ...]: the 2.5 and 97.5 % points, pulled away from the
 * value by sqrt(n / (n - 1)) of n blocks, as draws of few blocks vary too little. Sorts
 * the draws. A draw that is NAN makes both ends NAN.
 */
struct interval bootstrap_interval(const struct bootstrap *bootstrap, double *values);
