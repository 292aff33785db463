/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_line.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { SLOPE_POINTS_MIN = 8 };

/* Standard deviation of a median relative to the interquartile range (normal: 1.2533 / 1.349). */
#define MEDIAN_ERROR 0.929

static int by_value(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static int by_x(const void *a, const void *b)
{
	const struct ring_point *left = a, *right = b;

	return (left->x > right->x) - (left->x < right->x);
}

double ring_line_median(double *values, size_t n)
{
	if (n == 0)
		return (double)NAN;
	qsort(values, n, sizeof(*values), by_value);
	return values[(n - 1) / 2];
}

double ring_line_iqr(double *values, size_t n)
{
	if (n < 2)
		return 0;
	qsort(values, n, sizeof(*values), by_value);
	return values[(n - 1) * 3 / 4] - values[(n - 1) / 4];
}

double ring_line_median_error(double iqr, size_t n)
{
	return MEDIAN_ERROR * iqr / sqrt((double)n);
}

struct ring_line ring_line_fit(struct ring_point *points, size_t n, double slope_most)
{
	CLEANUP(freep) double *values = xcalloc(n, sizeof(*values));
	struct ring_line line = { .base = points[0].x, .n = n };
	const size_t half = n / 2;
	size_t i, n_slopes = 0;

	qsort(points, n, sizeof(*points), by_x);
	line.base = points[half].x;
	for (i = 0; n >= SLOPE_POINTS_MIN && i + half < n; i++) {
		const double run = points[i + half].x - points[i].x;

		if (run > 0)
			values[n_slopes++] = (points[i + half].y - points[i].y) / run;
	}
	if (n_slopes > 0)
		line.slope = ring_line_median(values, n_slopes);
	if (fabs(line.slope) > slope_most)
		line.slope = 0;
	for (i = 0; i < n; i++)
		values[i] = points[i].y - line.slope * (points[i].x - line.base);
	line.at = ring_line_median(values, n);
	line.iqr = ring_line_iqr(values, n);
	return line;
}
