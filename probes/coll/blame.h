/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which link of a ring is slow: each rank's rate is of the one link from it to
 * the next, whoever else is late. Pure.
 */
#pragma once

#include "lib/base/macro.h"

enum coll_blame_kind {
	COLL_BLAME_NOBODY,
	COLL_BLAME_LINK, /* from `rank` to the next one: either of them, or what is between */
	COLL_BLAME_RANK, /* both links of `rank`, in and out */
	COLL_BLAME_MANY, /* more than that; the one from `rank` is the slowest */
};

struct coll_blame {
	int kind; /* enum coll_blame_kind */
	unsigned rank;
	double share; /* of the rate of the good ones that the slowest has */
};

/* A link below this share of the good ones' rate is slow. */
#define COLL_BLAME_SHARE 0.8

/*
 * `rates` of `n` ranks (2 or more); one that is no number is not known. Good ones: the fastest but
 * for one of each eight, which may be faster by chance.
 */
struct coll_blame coll_blame_slow(const double *rates, unsigned n);
