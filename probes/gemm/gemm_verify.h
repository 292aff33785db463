/* SPDX-License-Identifier: Apache-2.0 */
/* Is a product exactly right? Of integers, by what its rows and columns must sum to. Pure. */
#pragma once

#include <stdint.h>

#include "probes/accel/accel.h"

/*
 * Integer factors with what their product must sum to. With entries of -2 to 2
 * every partial sum is an integer of at most 4 k, exact in f32 for k < 2^22
 * and so independent of order, tile and algorithm: the sums are compared
 * exactly, without tolerance (algorithm-based fault tolerance after Huang and
 * Abraham, IEEE TC 1984, on integers).
 */
struct gemm_ints {
	unsigned m, n, k;
	int8_t *a, *b;	    /* m x k and k x n, row-major */
	int64_t *row, *col; /* A (B 1) and (1^T A) B */
	int64_t *weights;   /* w, one a column, 1 to 65536 */
	int64_t *weighted;  /* A (B w): what cancels in a row does not cancel here */
};

/* What is wrong with a product. */
struct gemm_wrong {
	uint64_t count;	   /* wrong elements; 0: it is right */
	bool at_least;	   /* there may be more than were counted */
	unsigned row, col; /* of the first found */
	double got;
	int64_t expected;
};

/* -ENOMEM. */
int gemm_ints_new(unsigned m, unsigned n, unsigned k, uint64_t seed, struct gemm_ints *ret);
void gemm_ints_release(struct gemm_ints *ints);

/*
 * Verify `c`, m x n row-major elements of `out` (F32 or F64). -ENOMEM. An
 * element equal to its integer is right (minus zero is zero); NaN, infinities,
 * fractions and impossible integers are located directly, the others by the
 * rows and columns whose sums are off, recomputed element by element.
 */
int gemm_verify(const struct gemm_ints *ints, enum accel_dtype out, const void *c,
		struct gemm_wrong *ret);
