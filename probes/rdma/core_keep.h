/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins a thread to the core it is running on. A software RDMA device does its work on the core that
 * calls it. If the thread migrates during a measurement, part of that work stays on the old core,
 * and about a fifth of the rate is lost while the two cores contend.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>

struct core_keep {
	cpu_set_t before; /* affinity to restore */
	bool kept;
};

/*
 * Pin the calling thread to its current core. Returns false and changes nothing if the kernel
 * refuses or cannot tell the core or the affinity, as with more cores than a cpu_set_t holds.
 */
bool core_keep(struct core_keep *k);

/* The other cores that the thread may use; possibly none. */
cpu_set_t core_others(const struct core_keep *k);

/* Restore the affinity; to be called by the pinned thread. Does nothing if it was not pinned. */
void core_let_go(struct core_keep *k);
