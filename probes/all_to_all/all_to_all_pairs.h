/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each ordered pair of ends, as many at once as share no end: the rounds of the
 * circle method, once in each direction. What is low in one end's row and column
 * is that end's links; a low cell alone is between the two.
 */
#pragma once

#include "lib/base/macro.h"

struct all_to_all;
struct coll_move;

/* pair_bw of each ordered pair; what is slow among them goes to t->total's note. */
int all_to_all_pairs(struct all_to_all *t);

/*
 * The end through whose pairs less flows: the median of its row and column is below
 * 97 % of the median of the others' (n x n rates, n >= 3); COLL_NOBODY. Pure.
 */
int all_to_all_slow(const double *pairs, unsigned n, double *ret_part);

/*
 * The slowest pair, when it is below 97 % of the median of all and no end is slow (n >= 3). False:
 * none. Pure.
 */
bool all_to_all_slow_pair(const double *pairs, unsigned n, struct coll_move *ret, double *ret_part);
