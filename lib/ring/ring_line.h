/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of which some are wrong: medians, and a line through points of which up to a quarter may
 * lie anywhere. What clocks differ by is such a line. Pure.
 */
#pragma once

#include <stddef.h>

/* y = at + slope * (x - base) */
struct ring_line {
	double base, at, slope;
	double iqr; /* of what the points are off it: between the quartiles */
	size_t n;
};

struct ring_point {
	double x, y;
};

/* The middle one, the lower of two: of two ranks the earlier is not late. Reorders; NAN of none. */
double ring_line_median(double *values, size_t n);

/* How well a median of `n` values is known that have this ring_line_iqr(): one standard deviation. */
double ring_line_median_error(double iqr, size_t n);

/* From the first to the third quartile. Reorders; 0 of fewer than two. */
double ring_line_iqr(double *values, size_t n);

/*
 * Through points, any order (they are sorted by x): the slope is the median of those between each
 * point and the one half the list further (Theil 1950 asks for all pairs; these are n / 2 that
 * share no point), `at` the median of what is left. A slope beyond `slope_most`, or of fewer
 * than 8 points, is 0. n of at least 1.
 */
struct ring_line ring_line_fit(struct ring_point *points, size_t n, double slope_most);

static inline double ring_line_at(const struct ring_line *line, double x)
{
	return line->at + line->slope * (x - line->base);
}
