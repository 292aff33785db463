/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macro.h"

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void stats_sort(double *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), compare);
}

/* Halves first, so that two huge values do not overflow. */
static double middle(double a, double b)
{
	return a / 2 + b / 2;
}

double stats_median(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : middle(sorted[n / 2 - 1], sorted[n / 2]);
}

double stats_quantile(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t low = MIN((size_t)at, n - 1);
	size_t high = MIN(low + 1, n - 1);

	return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

/*
 * The deviations of a sorted array grow to both sides of the center, so that
 * the smallest ones are found by walking outwards, without sorting again.
 */
double stats_mad(const double *sorted, size_t n, double center)
{
	size_t right = 0, left, taken;
	double last = 0, before = 0;

	while (right < n && sorted[right] < center)
		right++;
	left = right; /* one past the next value to the left */
	for (taken = 0; taken <= n / 2; taken++) {
		bool go_left = right == n ||
			       (left > 0 && center - sorted[left - 1] < sorted[right] - center);

		before = last;
		last = go_left ? center - sorted[--left] : sorted[right++] - center;
	}
	return n % 2 ? last : middle(before, last);
}

double stats_sigma_of_mad(double mad)
{
	return 1.4826 * mad;
}

double stats_modified_z(double x, double median, double mad)
{
	if (x == median)
		return 0;
	return 0.6745 * (x - median) / mad;
}

void stats_leave_out(const double *sorted, size_t n, size_t left_out, double *ret_others)
{
	memcpy(ret_others, sorted, left_out * sizeof(*sorted));
	memcpy(ret_others + left_out, sorted + left_out + 1, (n - left_out - 1) * sizeof(*sorted));
}

/* The integrals of max(F_X - F_Y, 0) and of max(F_Y - F_X, 0): one walk over all steps. */
static void areas(const double *x, size_t nx, const double *y, size_t ny, double ret_areas[2])
{
	double at = fmin(x[0], y[0]);
	size_t i = 0, j = 0;

	ret_areas[0] = ret_areas[1] = 0;
	while (i < nx || j < ny) {
		double next = j == ny || (i < nx && x[i] <= y[j]) ? x[i] : y[j];
		double gap = (double)i / (double)nx - (double)j / (double)ny;

		ret_areas[gap < 0] += fabs(gap) * (next - at);
		at = next;
		while (i < nx && x[i] <= at)
			i++;
		while (j < ny && y[j] <= at)
			j++;
	}
}

double stats_wasserstein(const double *x, size_t nx, const double *y, size_t ny)
{
	double parts[2];

	areas(x, nx, y, ny, parts);
	return parts[0] + parts[1];
}

double stats_wasserstein_below(const double *x, size_t nx, const double *y, size_t ny)
{
	double parts[2];

	areas(x, nx, y, ny, parts);
	return parts[0];
}

double stats_similarity(const double *x, size_t nx, const double *y, size_t ny)
{
	double median = stats_median(y, ny);

	return median > 0 ? 1 - stats_wasserstein_below(x, nx, y, ny) / median : NAN;
}
