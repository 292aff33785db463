/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks exchange, what it must come to, and how fast that was. */
#pragma once

#include <stdint.h>

struct coll;
struct coll_op;
struct err;

/* What element `i` of a rank's buffer is before an operation: an integer >= 0. */
float coll_value(uint64_t seed, unsigned rank, uint64_t i);

/* Element `i` of `rank` after an operation of `n` ranks whose buffers have `elements`. */
float coll_wanted(int kind, uint64_t seed, unsigned n, unsigned rank, uint64_t elements, uint64_t i);

/* Fill the buffers of all ranks of this process. Errors of put(). */
int coll_fill(struct coll *c, const struct coll_op *op, uint64_t seed, struct err *err);

struct coll_wrong {
	uint64_t count; /* elements that are not what they should be */
	unsigned rank;	/* of the first */
	uint64_t at;	/* which element */
	unsigned from;	/* whose block it is in: all-to-all its sender, all-reduce the chunk */
	float is, wanted;
};

/* Compare what an operation left with what it should have. Errors of get(). */
int coll_check(struct coll *c, const struct coll_op *op, uint64_t seed, struct coll_wrong *ret,
	       struct err *err);

/*
 * Bus bandwidth in bytes/s: 2 (n-1)/n x bytes / s of an all-reduce and of what moves as much,
 * (n-1)/n of an all-to-all.
 */
double coll_busbw(const struct coll_op *op, unsigned n, double seconds);

/* Of the ranks of this process: from the first that arrived to the last that ended. NAN. */
double coll_seconds(const struct coll *c);
