/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the RNICs of a direction count when packets are lost on the way: a
 * reliable queue pair sends them again, which costs time and shows nowhere else.
 *
 * Names: drivers/infiniband/hw/mlx5/counters.c, sw/rxe/rxe_hw_counters.c,
 * hw/bnxt_re/hw_counters.c of Linux.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct pair_side;

enum { PAIR_LOST_COUNTERS = 9 };

struct pair_lost {
	uint64_t counts[PAIR_LOST_COUNTERS]; /* of hw_counters; those that there are not stay 0 */
};

void pair_lost_read(const struct pair_side *side, struct pair_lost *ret);

/*
 * "rxe1 counted 12 out_of_seq_request" when a counter of `side` rose since
 * `before`: of those that did the one that rose most. Else NULL. New memory.
 */
char *pair_lost_words(const struct pair_side *side, const struct pair_lost *before);
