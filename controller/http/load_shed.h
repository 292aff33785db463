/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Those who come all at once are told to come again within so many seconds,
 * each at a time of its own. When even then more come than can be kept, they are
 * spread over twice the time, and over half of it when few are told any more. Pure.
 */
#pragma once

#include <stdint.h>

enum { LOAD_SHED_WITHIN_MIN_S = 8, LOAD_SHED_WITHIN_MAX_S = 64 };

/* All zero at the start. */
struct load_shed {
	uint64_t since_us; /* begin of the time that is counted */
	uint64_t kept, told;
	unsigned within_s; /* 0: LOAD_SHED_WITHIN_MIN_S */
};

/* One report was kept. */
void load_shed_kept(struct load_shed *s);

/* One is told to come again: within how many seconds. */
unsigned load_shed_tell(struct load_shed *s, uint64_t now_us);
