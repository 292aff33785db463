/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_schedule.h"

#include "lib/base/macro.h"
#include "probes/rdma/flow.h"

/* How many times longer a slow fabric may take. */
#define PATIENCE 3
/* Part of the budget reserved for draining, and for finding out why it does not end. */
#define RESERVE_US (FLOW_DRAIN_US + 1 * USEC_PER_SEC)

uint64_t pair_patience_us(uint64_t us, uint64_t left_us)
{
	uint64_t most_us = left_us > RESERVE_US ? left_us - RESERVE_US : 0;

	return MAX(us, MIN(PATIENCE * us, most_us));
}
