/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_schedule.h"

#include "probes/rdma/flow.h"

/* How many times as long a slow fabric may take. */
#define PATIENCE 3
/* Kept of the budget then: for what is outstanding, and to see why it does not end. */
#define RESERVE_US (FLOW_DRAIN_US + 1 * USEC_PER_SEC)

size_t pair_rounds(size_t n)
{
	return n < 2 ? 0 : n % 2 ? n : n - 1;
}

size_t pair_round(size_t n, size_t round, struct pair_match *ret)
{
	size_t turning = pair_rounds(n), made = 0, k;

	for (k = 0; turning && k <= turning / 2; k++) {
		/* The last place stays; of an odd number nobody sits there. */
		size_t x = k == 0 ? turning : (round + k) % turning;
		size_t y = (round + turning - k) % turning;

		if (x < n)
			ret[made++] = (struct pair_match){ MIN(x, y), MAX(x, y) };
	}
	return made;
}

uint64_t pair_patience_us(uint64_t us, uint64_t left_us)
{
	uint64_t most_us = left_us > RESERVE_US ? left_us - RESERVE_US : 0;

	return MAX(us, MIN(PATIENCE * us, most_us));
}
