/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large the arrays must be so that memory is measured and not a cache.
 * Pure: the rate at a size comes from a callback.
 *
 * Sizes double from a first one until two neighbours agree; the second is the
 * size. A cache smaller than the first size can then hide at most as much as
 * the two differ (what it keeps of an array halves with each doubling). So the
 * first size must be larger than the caches, and where their size is not known
 * for sure (a guest sees what its hypervisor likes) it is half of the largest
 * allowed: two sizes that agree inside a large cache agree on the wrong rate.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

#define SIZING_MIN (UINT64_C(4) << 20)	  /* bytes of one array, at least */
#define SIZING_MAX (UINT64_C(1024) << 20) /* at most */

enum {
	SIZING_FREE_PART = 8, /* one array is at most this part of the node's free memory */
	SIZING_CACHES = 2,    /* the first size is at least this many times the caches */
};

/* Two neighbours that differ by no more agree. */
#define SIZING_AGREE 0.03

struct sizing {
	uint64_t least; /* first size to try, a power of two */
	uint64_t most;	/* largest allowed, a power of two */
};

struct sizing_result {
	uint64_t bytes; /* of one array, a power of two */
	double rate;	/* there, bytes per second */
	bool settled;	/* two sizes agreed */
	unsigned tried;
};

/*
 * The sizes to try for a node with `free_bytes` of memory whose cores have
 * `llc_bytes` of cache (0: not known for sure), when the last run chose
 * `last_bytes` (0: there was none; keeping to it keeps samples comparable).
 * -ENOMEM when not even SIZING_MIN is allowed.
 */
int sizing_plan(uint64_t free_bytes, uint64_t llc_bytes, uint64_t last_bytes, struct sizing *ret);

/*
 * Measure the rate with arrays of `bytes`. -ENOSPC when so much cannot be had
 * (memory or time); any other failure ends the search with it.
 */
typedef int sizing_measure(void *context, uint64_t bytes, double *ret_rate);

/*
 * Find the size. When a size cannot be had, the largest below it is taken.
 * -ENOSPC when SIZING_MIN cannot be had either.
 */
int sizing_find(const struct sizing *s, sizing_measure *measure, void *context,
		struct sizing_result *ret);
