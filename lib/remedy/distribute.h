/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributes the micro-batches of a step among pipelines of different speeds. Pipeline i takes
 * t[i] seconds for each; there are `total`, and each pipeline takes at least its minimum.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum {
	DISTRIBUTE_PIPELINES_MAX = 4096,
	DISTRIBUTE_TOTAL_MAX = 65536,
	DISTRIBUTE_WORK_MAX = 1 << 28, /* pipelines * total */
	DISTRIBUTE_VARIANCE_MAX = 64,  /* pipelines for distribute_variance() */
};

struct distribute_wish {
	const double *t;     /* seconds, above 0 */
	const size_t *least; /* NULL: 1 each */
	size_t n, total;
};

/*
 * Minimises the slowest, max(counts[i] * t[i]), by giving each micro-batch to the pipeline with the
 * least (count + 1) * t, the first of equals. Exact: the last one given ends no later than it would
 * anywhere else. -ERANGE if `total` is less than the sum of the minimums, -EINVAL for input out of
 * bounds.
 */
int distribute_minmax(const struct distribute_wish *wish, size_t *ret_counts, struct err *err);

/*
 * Minimises sum (counts[i] * t[i] - mean)^2, as Oobleck does (SOSP 2023, section 4.2.2); of equals
 * the first in lexicographic order. Ignores `least`: 1 each. Errors as above.
 *
 * For any c, sum (counts[i] * t[i] - c)^2 is a sum of convex terms, so giving each micro-batch
 * where the increase is least finds its optimum, and the variance is the minimum over all c.
 * Starting from c = 0, the optimum moves one micro-batch at a time from a faster pipeline to a
 * slower one, at known values of c: one walk sees all of them.
 */
int distribute_variance(const struct distribute_wish *wish, size_t *ret_counts, struct err *err);

/* max(counts[i] * t[i]). */
double distribute_slowest(const struct distribute_wish *wish, const size_t *counts);
