/* SPDX-License-Identifier: Apache-2.0 */
/* What good groups of a class of rates reach, and how far values spread. Pure. */
#pragma once

#include <stddef.h>

#include "lib/judge/reference.h"

/* The variance of a median of normal values to that of their mean: half of pi. */
#define PAIRING_MEDIAN_VARIANCE 1.571

/* What good groups of a class reach. */
struct pairing_level {
	bool known;
	double at, floor;
	size_t n; /* values near it */
};

/* What good groups reach, from the values of a class in any order (sorted here). */
void pairing_level_of(double *values, size_t n, struct pairing_level *ret);

/* How rates are held against each other. */
struct measure pairing_measure(double value);

/*
 * The relative standard deviation of one value when `n` of them show `shown`: few
 * values are believed less than what pairs are known to vary by.
 */
double pairing_sigma(double shown, size_t n);
