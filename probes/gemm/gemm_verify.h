/* SPDX-License-Identifier: Apache-2.0 */
/* Is an integer product exactly right? Verified by the sums of its rows and columns. Pure. */
#pragma once

#include <stdint.h>

#include "probes/accel/accel.h"

/*
 * Integer factors, and what their product must sum to. With entries of -2 to 2, every partial sum
 * is an integer of at most 4 k, which is exact in f32 for k < 2^22, independent of order, tiling
 * and algorithm. So the sums are compared exactly, without tolerance (algorithm-based fault
 * tolerance after Huang and Abraham, IEEE TC 1984, on integers).
 */
struct gemm_ints {
	unsigned m, n, k;
	int8_t *a, *b;	    /* m x k and k x n, row-major */
	int64_t *row, *col; /* A (B 1) and (1^T A) B */
	int64_t *weights;   /* w, one per column, 1 to 65536 */
	int64_t *weighted;  /* A (B w): detects what cancels out in a row sum */
};

/* What is wrong with a product. */
struct gemm_wrong {
	uint64_t count;	   /* wrong elements; 0: it is right */
	bool at_least;	   /* there may be more wrong elements */
	unsigned row, col; /* of the first one found */
	double got;
	int64_t expected;
};

/* -ENOMEM. */
int gemm_ints_new(unsigned m, unsigned n, unsigned k, uint64_t seed, struct gemm_ints *ret);
void gemm_ints_release(struct gemm_ints *ints);

/*
 * Verify `c`, m x n row-major elements of `out` (F32 or F64). -ENOMEM. An element equal to its
 * integer is right (minus zero is zero). NaN, infinities, fractions and impossible integers are
 * located directly; other wrong elements through the rows and columns with wrong sums, which are
 * recomputed element by element.
 */
int gemm_verify(const struct gemm_ints *ints, enum accel_dtype out, const void *c,
		struct gemm_wrong *ret);
