/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RNIC counters of lost packets. A reliable queue pair resends them, which costs time but shows
 * nowhere else.
 *
 * Names: drivers/infiniband/hw/mlx5/counters.c, sw/rxe/rxe_hw_counters.c, hw/bnxt_re/hw_counters.c
 * of Linux.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct pair_side;

enum { PAIR_LOST_COUNTERS = 9 };

struct pair_lost {
	uint64_t counts[PAIR_LOST_COUNTERS]; /* from hw_counters; missing ones stay 0 */
};

void pair_lost_read(const struct pair_side *side, struct pair_lost *ret);

/*
 * "rxe1 counted 12 out_of_seq_request" for the counter of `side` that rose most since `before`;
 * NULL if none rose. The caller frees the result.
 */
char *pair_lost_words(const struct pair_side *side, const struct pair_lost *before);
