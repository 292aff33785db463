/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The elements of matrices: what they are filled with, and what they are as numbers. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probes/accel/accel.h"

/* The next number of a seeded sequence (splitmix64, Steele, Lea, Flood 2014). */
uint64_t gemm_random(uint64_t *state);

/*
 * Fill `n` elements with seeded values, uniform in [-1, 1): zeros, and integers, would draw less
 * power than real data. FP8 takes what it has nearest. What they are is GEMM_DATA of the params:
 * two rates are compared when it is the same, so that whoever changes the values changes the word.
 */
#define GEMM_DATA "uniform"
void gemm_fill_random(enum accel_dtype dtype, size_t n, uint64_t seed, void *out);

/* Element `i` as a number. Not of FP8. */
double gemm_value(enum accel_dtype dtype, const void *elements, size_t i);

/*
 * The power of two that the integers of the product with this seed are times: faults depend on the
 * range of the data. One of three, so that neither factors nor sums leave the type.
 */
int gemm_power(enum accel_dtype dtype, uint64_t seed);

/* Write small integers (-2 to 2) times 2^power as elements of `dtype`, each exact in all of them. */
void gemm_fill_ints(enum accel_dtype dtype, size_t n, const int8_t *ints, int power, void *out);

/*
 * Take 2^(2 power) out of the elements of a product (F32 or F64). What is not zero does
 * not become zero: a wrong bit must not be lost.
 */
void gemm_unscale(enum accel_dtype out, size_t n, int power, void *elements);
