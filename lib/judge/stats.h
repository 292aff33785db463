/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Robust statistics of small sets of values. Pure. "Sorted" means ascending; no value is NAN.
 * Functions of a sorted array need n >= 1.
 */
#pragma once

#include <stddef.h>

/* Sort ascending, in place. */
void stats_sort(double *values, size_t n);

/*
 * Partial sort: value number `at` (less than `n`) is what sorting would put there; none before it
 * is greater, none after it less. O(n).
 */
void stats_select(double *values, size_t n, size_t at);

/*
 * Puts the `lowest` (at most `n`) smallest values first, ascending; the others follow in any order.
 */
void stats_sort_lowest(double *values, size_t n, size_t lowest);

/* stats_median() of `n` >= 1 values in any order, which are reordered. O(n). */
double stats_median_of(double *values, size_t n);

/* The middle value, or the mean of the two middle ones. */
double stats_median(const double *sorted, size_t n);

/* Quantile 0 <= q <= 1, linear interpolation between the closest ranks (type 7 in R). */
double stats_quantile(const double *sorted, size_t n, double q);

/* Median of |x - center|: the MAD when `center` is the median. O(n). */
double stats_mad(const double *sorted, size_t n, double center);

/*
 * Standard deviation from a MAD: times 1.4826, so that both are equal for a normal distribution (1
 * / quantile 0.75 of the standard normal).
 */
double stats_sigma_of_mad(double mad);

/*
 * Modified z-score of Iglewicz and Hoaglin, 0.6745 (x - median) / MAD; they cut at 3.5. If the MAD
 * is 0: 0 at the median, else infinite.
 */
double stats_modified_z(double x, double median, double mad);

/* Copies all values except number `left_out` into `ret_others` (n - 1), in order. */
void stats_leave_out(const double *sorted, size_t n, size_t left_out, double *ret_others);

/*
 * Distance between two samples as the area between their empirical distribution
 * functions (1-Wasserstein), in the unit of the values.
 */
double stats_wasserstein(const double *x, size_t nx, const double *y, size_t ny);

/*
 * The one-sided part W+: the integral of max(F_X - F_Y, 0), that is how far X lies below Y; 0 if X
 * is lower nowhere. W+(X,Y) + W+(Y,X) = W(X,Y).
 */
double stats_wasserstein_below(const double *x, size_t nx, const double *y, size_t ny);

/*
 * 1 - W+(X,Y) / median(Y): 1 if X is lower nowhere, 0.95 if it is 5 % lower on average. Modelled on
 * SuperBench (arXiv 2402.06194, which keeps nodes above alpha = 0.95), whose own formula is not
 * published. NAN if median(Y) is not above 0.
 */
double stats_similarity(const double *x, size_t nx, const double *y, size_t ny);
