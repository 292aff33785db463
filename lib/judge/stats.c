/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"

/* Runs of this many values are sorted by insertion, then merged. */
enum { RUN = 16 };

/* About 25 are usual for a million values. */
enum { SELECT_ROUNDS = 48 };

static void sort_run(double *values, size_t n)
{
	size_t i, j;

	for (i = 1; i < n; i++) {
		const double value = values[i];

		for (j = i; j > 0 && value < values[j - 1]; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
}

/* Merges the first `middle` of `n` values with the others; both parts are ascending. */
static void merge(const double *from, size_t middle, size_t n, double *to)
{
	size_t left = 0, right = middle;

	while (left < middle && right < n) {
		const bool take_right = from[right] < from[left];

		*to++ = take_right ? from[right] : from[left];
		right += take_right;
		left += !take_right;
	}
	to = mempcpy(to, from + left, (middle - left) * sizeof(*to));
	memcpy(to, from + right, (n - right) * sizeof(*to));
}

/* qsort() calls a function per comparison, which costs far more than the comparison. */
void stats_sort(double *values, size_t n)
{
	CLEANUP(freep) double *memory = n > RUN ? xrealloc(NULL, n, sizeof(*memory)) : NULL;
	double *from = values, *to = memory, *swap;
	size_t width, at;

	for (at = 0; at < n; at += RUN)
		sort_run(values + at, MIN(n - at, (size_t)RUN));
	for (width = RUN; width < n; width *= 2) {
		for (at = 0; at < n; at += 2 * width)
			merge(from + at, MIN(width, n - at), MIN(2 * width, n - at), to + at);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != values)
		memcpy(values, from, n * sizeof(*values));
}

static double middle_of_three(double a, double b, double c)
{
	return a < b ? (b < c ? b : fmax(a, c)) : (a < c ? a : fmax(b, c));
}

/*
 * Moves values less than `pivot` (with `same`: not greater) to the front; returns how many. Avoids
 * branches that depend on a value, since half of them would be mispredicted.
 */
static size_t split(double *values, size_t n, double pivot, bool same)
{
	size_t first = 0, i;

	for (i = 0; i < n; i++) {
		const double value = values[i];

		values[i] = values[first];
		values[first] = value;
		first += same ? value <= pivot : value < pivot;
	}
	return first;
}

/* Hoare's selection. If pivots are persistently bad, as crafted input could make them, it sorts. */
void stats_select(double *values, size_t n, size_t at)
{
	unsigned rounds;

	for (rounds = 0; n > RUN && rounds < SELECT_ROUNDS; rounds++) {
		const double pivot = middle_of_three(values[0], values[n / 2], values[n - 1]);
		const size_t less = split(values, n, pivot, false);
		size_t same;

		if (at < less) {
			n = less;
			continue;
		}
		values += less;
		n -= less;
		at -= less;
		same = split(values, n, pivot, true);
		if (at < same)
			return;
		values += same;
		n -= same;
		at -= same;
	}
	stats_sort(values, n);
}

void stats_sort_lowest(double *values, size_t n, size_t lowest)
{
	if (lowest > 0 && lowest < n)
		stats_select(values, n, lowest - 1);
	stats_sort(values, lowest);
}

/* Halves first, so that two huge values do not overflow. */
static double middle(double a, double b)
{
	return a / 2 + b / 2;
}

double stats_median_of(double *values, size_t n)
{
	double before;
	size_t i;

	stats_select(values, n, n / 2);
	if (n % 2)
		return values[n / 2];
	before = values[0];
	for (i = 1; i < n / 2; i++)
		before = values[i] > before ? values[i] : before;
	return middle(before, values[n / 2]);
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
 * The deviations of a sorted array grow in both directions from the center, so the smallest ones
 * are found by walking outwards, without sorting again.
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

/* The integrals of max(F_X - F_Y, 0) and of max(F_Y - F_X, 0), in one pass over all steps. */
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
