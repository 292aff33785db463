/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who meets whom: every two of `n` once, nobody twice in a round, by the circle
 * method (one stays, the others go round it). Pure.
 */
#pragma once

#include <stddef.h>

struct match {
	size_t a, b; /* a < b */
};

/* Rounds of `n`: n - 1 of an even number, n of an odd one, 0 of fewer than two. */
size_t circle_rounds(size_t n);

/* The matches of a round, room for n / 2; returns how many: all but one play when n is odd. */
size_t circle_round(size_t n, size_t round, struct match *ret);
