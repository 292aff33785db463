/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures each ordered pair of ends, in rounds of pairs that share no end (the circle method), one
 * direction at a time. If an end's whole row and column are low, its links are slow; if only one
 * cell is low, the path between the two is.
 */
#pragma once

#include "lib/base/macro.h"

struct all_to_all;
struct coll_move;

/* Emit pair_bw of each ordered pair, and add slow ones to the note of t->total. */
int all_to_all_pairs(struct all_to_all *t);

/*
 * Find the end that slows its pairs: the median of its row and column is below 97 % of the median
 * of the others' (n x n rates, n >= 3). COLL_NOBODY if there is none. Pure.
 */
int all_to_all_slow(const double *pairs, unsigned n, double *ret_part);

/*
 * Find the slowest pair, if it is below 97 % of the median of all and no end is slow (n >= 3).
 * Returns false if there is none. Pure.
 */
bool all_to_all_slow_pair(const double *pairs, unsigned n, struct coll_move *ret, double *ret_part);
