/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who meets whom: every two of `n` ports once, no port twice in a round, by the
 * circle method (one stays, the others go round it). Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/macro.h"

struct pair_match {
	size_t a, b; /* a < b */
};

/* Rounds of `n` ports: n - 1 of an even number, n of an odd one, 0 of fewer than two. */
size_t pair_rounds(size_t n);

/* The matches of a round, room for n / 2; returns how many: all but one port play when n is odd. */
size_t pair_round(size_t n, size_t round, struct pair_match *ret);

/*
 * How long a measurement of `us` may take on a slow fabric when `left_us` of the budget are left:
 * a path that went dead is waited for after that (FLOW_DRAIN_US), and the sample must still be told.
 */
uint64_t pair_patience_us(uint64_t us, uint64_t left_us);
