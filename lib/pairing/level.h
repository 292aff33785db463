/* SPDX-License-Identifier: Apache-2.0 */
/* What good groups of a class of rates reach, and how far values spread. Pure. */
#pragma once

#include <stddef.h>

#include "lib/judge/reference.h"

/* Variance of a median of normal values, relative to that of their mean: pi / 2. */
#define PAIRING_MEDIAN_VARIANCE 1.571

/* What good groups of a class reach. */
struct pairing_level {
	bool known;
	double at, floor;
	size_t n; /* number of values near it */
};

/* Determines the level from the values of a class, in any order (sorted here). */
void pairing_level_of(double *values, size_t n, struct pairing_level *ret);

/* How rates are compared with each other. */
struct measure pairing_measure(double value);

/*
 * Relative standard deviation of one value if `n` of them show `shown`: the fewer values, the more
 * it relies on how much pairs are known to vary.
 */
double pairing_sigma(double shown, size_t n);
