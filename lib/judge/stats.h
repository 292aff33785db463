/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust statistics of few values. Pure. "Sorted" means ascending; no value is
 * NAN. Every function of a sorted array takes n >= 1.
 */
#pragma once

#include <stddef.h>

/* Sort ascending, in place. */
void stats_sort(double *values, size_t n);

/*
 * Sort as far as value number `at` (less than `n`) needs it: it is what sorting puts there, those
 * before it are none greater, those behind it none less. O(n).
 */
void stats_select(double *values, size_t n, size_t at);

/* The `lowest` (at most `n`) least values first, ascending; the others behind them in any order. */
void stats_sort_lowest(double *values, size_t n, size_t lowest);

/* stats_median() of `n` >= 1 values in any order, which are moved. O(n). */
double stats_median_of(double *values, size_t n);

/* Middle value, or the mean of the two middle ones. */
double stats_median(const double *sorted, size_t n);

/* Quantile 0 <= q <= 1 by linear interpolation between the closest ranks (type 7 of R). */
double stats_quantile(const double *sorted, size_t n, double q);

/* Median of |x - center|: the MAD when `center` is the median. O(n). */
double stats_mad(const double *sorted, size_t n, double center);

/*
 * A standard deviation from a MAD: 1.4826 of it, which makes both equal for a
 * normal distribution (1 / quantile 0.75 of the standard normal).
 */
double stats_sigma_of_mad(double mad);

/*
 * Iglewicz and Hoaglin's modified z: 0.6745 (x - median) / MAD; their cut is
 * 3.5. With a MAD of 0: 0 at the median, else an infinity.
 */
double stats_modified_z(double x, double median, double mad);

/* Copy the n - 1 values other than number `left_out` into `ret_others`, in order. */
void stats_leave_out(const double *sorted, size_t n, size_t left_out, double *ret_others);

/*
 * Distance between two samples as the area between their empirical distribution
 * functions (1-Wasserstein), in the unit of the values.
 */
double stats_wasserstein(const double *x, size_t nx, const double *y, size_t ny);

/*
 * The one-sided part W+: the integral of max(F_X - F_Y, 0), that is how far X
 * lies below Y; 0 when X is nowhere lower. W+(X,Y) + W+(Y,X) = W(X,Y).
 */
double stats_wasserstein_below(const double *x, size_t nx, const double *y, size_t ny);

/*
 * 1 - W+(X,Y) / median(Y): 1 when X is nowhere lower than Y, 0.95 when it is
 * 5 % lower on average. In the manner of SuperBench (arXiv 2402.06194, which
 * keeps nodes above alpha = 0.95); its own formula is not published, this is
 * ours. NAN when median(Y) is not above 0.
 */
double stats_similarity(const double *x, size_t nx, const double *y, size_t ny);
