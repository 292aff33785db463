/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The duration of a pipeline template, and the best cut of layers into its stages: Oobleck (Jang et
 * al., SOSP 2023, section 4.1.2).
 *
 * Stage k takes t[k] seconds for one forward and one backward. With N micro-batches, S stages and
 * k* the slowest (the last of equals, counted from 0)
 *
 *	T = sum t + (N - S + k* - 1) * t[k*] + sum of t[k*...]
 *
 * which is exact for equal stages, and otherwise a lower bound for 1F1B (pipe_1f1b.h).
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum {
	SPLIT_LAYERS_MAX = 512,
	SPLIT_ROUNDS = 4, /* micro-batches per stage of a template, as in Oobleck */
};

struct split_time {
	double total;		    /* fill + steady + drain */
	double fill, steady, drain; /* T1, T2, T3 */
	double published;	    /* as computed by Oobleck's code, for SPLIT_ROUNDS * stages */
	size_t slowest;		    /* k* */
};

/* `n` >= 1 stages, and at least as many micro-batches. */
struct split_time split_time(const double *t, size_t n, size_t microbatches);

/*
 * Cuts `n` layers into `stages` runs of at least one so that T is least; of equals the first in
 * lexicographic order. Fills ret_counts[stages]. O(n^3). -ERANGE if there are fewer layers than
 * stages, or fewer micro-batches than stages.
 */
int split_best(const double *layers, size_t n, size_t stages, size_t microbatches,
	       size_t *ret_counts, struct err *err);
