/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that stays on the core it is on. A device in software works where it is
 * asked to: who is moved while it measures finds half of that work on another core,
 * and for as long as the two get into each other's way a fifth of the rate is gone.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>

struct core_keep {
	cpu_set_t before; /* the cores the thread may use again afterwards */
	bool kept;
};

/*
 * Keep the calling thread where it is. False, and nothing changed, when the kernel does not
 * say or let, as with more cores than a cpu_set_t holds.
 */
bool core_keep(struct core_keep *k);

/* The other cores it might use, which may be none. */
cpu_set_t core_others(const struct core_keep *k);

/* Let it go, by the thread that was kept. Harmless when none was. */
void core_let_go(struct core_keep *k);
