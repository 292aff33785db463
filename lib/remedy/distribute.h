/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The micro-batches of a step, dealt to pipelines of different speeds. Pipeline i takes
 * t[i] seconds for each; `total` are to be dealt, each pipeline takes at least its least.
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
	DISTRIBUTE_VARIANCE_MAX = 64,  /* pipelines of distribute_variance() */
};

struct distribute_wish {
	const double *t;     /* seconds, above 0 */
	const size_t *least; /* NULL: 1 each */
	size_t n, total;
};

/*
 * So that the slowest, max(ret_counts[i] * t[i]), is least, by giving each micro-batch to
 * the pipeline with the least (count + 1) * t, the first of equals. Exact: the last one
 * given ends no later than it would anywhere else. -ERANGE when `total` is less than the
 * least of all together, -EINVAL for a wish out of its bounds.
 */
int distribute_minmax(const struct distribute_wish *wish, size_t *ret_counts, struct err *err);

/*
 * So that sum (counts[i] * t[i] - mean)^2 is least, as Oobleck does (SOSP 2023, section
 * 4.2.2); of equals the one whose counts come first in their order. `least` is not looked
 * at: 1 each. Errors as above.
 *
 * For any c, sum (counts[i] * t[i] - c)^2 falls apart into convex parts, so dealing by the
 * least increase finds its optimum; the variance is its least value over all c. From c = 0
 * on the optimum moves a micro-batch at a time from a faster pipeline to a slower one, at
 * values of c that are known: one walk sees all of them.
 */
int distribute_variance(const struct distribute_wish *wish, size_t *ret_counts, struct err *err);

/* max(counts[i] * t[i]). */
double distribute_slowest(const struct distribute_wish *wish, const size_t *counts);
