/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix elements: their generation, and conversion to numbers. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probes/accel/accel.h"

/* The next number of a seeded sequence (splitmix64, Steele, Lea, Flood 2014). */
uint64_t gemm_random(uint64_t *state);

/*
 * Fill `n` elements with seeded values, uniform in [-1, 1): zeros or integers would draw less power
 * than real data. FP8 uses the nearest value. GEMM_DATA names the distribution in params, because
 * rates are only comparable if it is the same; whoever changes the values must change the name.
 */
#define GEMM_DATA "uniform"
void gemm_fill_random(enum accel_dtype dtype, size_t n, uint64_t seed, void *out);

/* Element `i` as a number. Not for FP8. */
double gemm_value(enum accel_dtype dtype, const void *elements, size_t i);

/*
 * The power of two by which the integers are scaled for the product with this seed, because faults
 * may depend on the range of the data. One of three, chosen so that neither factors nor sums exceed
 * the type's range.
 */
int gemm_power(enum accel_dtype dtype, uint64_t seed);

/*
 * Write small integers (-2 to 2) times 2^power as elements of `dtype`; they are exact in all types.
 */
void gemm_fill_ints(enum accel_dtype dtype, size_t n, const int8_t *ints, int power, void *out);

/*
 * Divide the elements of a product (F32 or F64) by 2^(2 power). Non-zero elements never become
 * zero, so that a wrong bit is not lost.
 */
void gemm_unscale(enum accel_dtype out, size_t n, int power, void *elements);
