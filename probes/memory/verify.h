/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pattern check of an arena: all threads of the team write the pattern,
 * then read it, then the same with the complement, and what is wrong is tried
 * again (probes/memory/pattern.h).
 */
#pragma once

#include "probes/memory/pattern.h"
#include "probes/memory/rate.h"

struct verify {
	uint64_t words;		    /* checked, each with the pattern and its complement */
	struct pattern_fault fault; /* wrong 0: none */
	size_t array;		    /* of the first fault: which array, */
	uint64_t offset;	    /* and where in it, bytes */
	bool reproduced;	    /* wrong again when tried another way */
	double seconds;
};

/* Breaks memory between writing and reading: for tests only. NULL: nothing. */
struct verify_hook {
	pattern_settle *settle;
	void *context;
};

/*
 * Check as much as can be in `us` at about `bytes_per_s`, all of the arena at
 * most. Leaves other values in the arrays than arena_touch() did. -ETIME when
 * the time does not even do for a page of each thread.
 */
int verify_arena(struct arena *arena, uint64_t seed, uint64_t us, double bytes_per_s,
		 const struct verify_hook *hook, struct verify *ret);
