/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the slow link of a ring. The rate of each rank is that of the link from it to the next
 * rank, however late other ranks are. Pure.
 */
#pragma once

#include "lib/base/macro.h"

enum coll_blame_kind {
	COLL_BLAME_NOBODY,
	COLL_BLAME_LINK, /* the link from `rank` to the next one: either rank, or what is between */
	COLL_BLAME_RANK, /* both links of `rank`, in and out */
	COLL_BLAME_MANY, /* more than that; the link from `rank` is the slowest */
};

struct coll_blame {
	int kind; /* enum coll_blame_kind */
	unsigned rank;
	double share; /* rate of the slowest link as a share of the good links' rate */
};

/* A link is slow below this share of the good links' rate. */
#define COLL_BLAME_SHARE 0.8

/*
 * `rates` of `n` (2 or more) ranks; one that is not finite is unknown. The good links' rate is that
 * of the fastest link, ignoring one in eight, which may be faster by chance.
 */
struct coll_blame coll_blame_slow(const double *rates, unsigned n);
