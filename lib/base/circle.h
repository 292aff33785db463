/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Round-robin pairing by the circle method (one stays, the others rotate around it): each two of
 * `n` meet once, and nobody plays twice in a round. Pure.
 */
#pragma once

#include <stddef.h>

struct match {
	size_t a, b; /* a < b */
};

/* Number of rounds for `n`: n - 1 if even, n if odd, 0 below two. */
size_t circle_rounds(size_t n);

/* Writes the matches of a round (room for n / 2); returns how many. If n is odd, one sits out. */
size_t circle_round(size_t n, size_t round, struct match *ret);
