/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pattern check of an arena: all threads write the pattern and read it, then the same with its
 * complement; faults are retested (probes/memory/pattern.h).
 */
#pragma once

#include "probes/memory/pattern.h"
#include "probes/memory/rate.h"

struct verify {
	uint64_t words;		    /* tested with both the pattern and its complement */
	struct pattern_fault fault; /* wrong == 0: none */
	size_t array;		    /* array of the first fault, */
	uint64_t offset;	    /* and its offset in it, in bytes */
	bool reproduced;	    /* wrong again with another algorithm */
	double seconds;
};

/* Corrupts memory between writing and reading, only for tests. NULL: nothing. */
struct verify_hook {
	pattern_settle *settle;
	void *context;
};

/*
 * Check as much of the arena as is possible in `us` at about `bytes_per_s`. Overwrites the values
 * left by arena_touch(). -ETIME if there is not even time for a page per thread.
 */
int verify_arena(struct arena *arena, uint64_t seed, uint64_t us, double bytes_per_s,
		 const struct verify_hook *hook, struct verify *ret);
