/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines how large the arrays must be so that memory is measured and not a cache. Pure: rates
 * come from a callback.
 *
 * Sizes are doubled from a first one until two neighbours agree, and the second is used. A cache
 * smaller than the first size can then distort the result by at most the difference between the two
 * (the part of an array it holds halves with each doubling). So the first size must be larger than
 * the caches. If their size is not known for sure (a guest sees what its hypervisor reports), the
 * first size is half of the largest allowed, because two sizes that agree inside a large cache
 * agree on the wrong rate.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

#define SIZING_MIN (UINT64_C(4) << 20)	  /* minimum bytes of one array */
#define SIZING_MAX (UINT64_C(1024) << 20) /* maximum */

enum {
	SIZING_FREE_PART = 8, /* divisor of the node's free memory: limit for one array */
	SIZING_CACHES = 2,    /* the first size is at least this many times the caches */
};

/* Two neighbouring rates agree if they differ by no more than this. */
#define SIZING_AGREE 0.03

struct sizing {
	uint64_t least; /* first size to try, a power of two */
	uint64_t most;	/* largest allowed, a power of two */
};

struct sizing_result {
	uint64_t bytes; /* per array, a power of two */
	double rate;	/* at that size, bytes per second */
	bool settled;	/* two sizes agreed */
	unsigned tried;
};

/*
 * Determine the sizes to try for a node with `free_bytes` of memory whose cores have `llc_bytes` of
 * cache (0: not known for sure), if the last run chose `last_bytes` (0: none); keeping it keeps
 * samples comparable. -ENOMEM if not even SIZING_MIN is allowed.
 */
int sizing_plan(uint64_t free_bytes, uint64_t llc_bytes, uint64_t last_bytes, struct sizing *ret);

/*
 * Measure the rate with arrays of `bytes`. -ENOSPC if that size is not possible (memory or time);
 * any other failure aborts the search.
 */
typedef int sizing_measure(void *context, uint64_t bytes, double *ret_rate);

/*
 * Find the size. If a size is not possible, the largest one below it is used. -ENOSPC if SIZING_MIN
 * is not possible either.
 */
int sizing_find(const struct sizing *s, sizing_measure *measure, void *context,
		struct sizing_result *ret);
