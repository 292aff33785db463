/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust statistics: medians, and a line through points of which up to a quarter may be arbitrary.
 * Clock differences are such lines. Pure.
 */
#pragma once

#include <stddef.h>

/* y = at + slope * (x - base) */
struct ring_line {
	double base, at, slope;
	double iqr; /* interquartile range of the residuals */
	size_t n;
};

struct ring_point {
	double x, y;
};

/* The median, the lower of two: of two ranks the earlier is not late. Reorders; NAN of none. */
double ring_line_median(double *values, size_t n);

/* Standard deviation of a median of `n` values with this ring_line_iqr(). */
double ring_line_median_error(double iqr, size_t n);

/* Interquartile range. Reorders; 0 for fewer than two. */
double ring_line_iqr(double *values, size_t n);

/*
 * Fits a line to points in any order (they are sorted by x). The slope is the median of the slopes
 * between each point and the one half the list further (Theil 1950 uses all pairs; these are n / 2
 * pairs that share no point), `at` is the median of the residuals. The slope is 0 if beyond
 * `slope_most`, or for fewer than 8 points. n >= 1.
 */
struct ring_line ring_line_fit(struct ring_point *points, size_t n, double slope_most);

static inline double ring_line_at(const struct ring_line *line, double x)
{
	return line->at + line->slope * (x - line->base);
}
