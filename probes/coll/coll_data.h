/* SPDX-License-Identifier: Apache-2.0 */
/* The data that ranks exchange, its expected result, and the rates. */
#pragma once

#include <stdint.h>

struct coll;
struct coll_op;
struct err;

/* The value of element `i` of a rank's buffer before an operation: an integer >= 0. */
float coll_value(uint64_t seed, unsigned rank, uint64_t i);

/*
 * The expected value of element `i` of `rank` after an operation of `n` ranks with `elements` each.
 */
float coll_wanted(int kind, uint64_t seed, unsigned n, unsigned rank, uint64_t elements, uint64_t i);

/* Fill the buffers of all ranks of this process. Errors of put(). */
int coll_fill(struct coll *c, const struct coll_op *op, uint64_t seed, struct err *err);

struct coll_wrong {
	uint64_t count; /* wrong elements */
	unsigned rank;	/* of the first wrong one */
	uint64_t at;	/* its index */
	unsigned from;	/* whose block it is in: all-to-all the sender, all-reduce the chunk */
	float is, wanted;
};

/* Compare the result of an operation with the expected one. Errors of get(). */
int coll_check(struct coll *c, const struct coll_op *op, uint64_t seed, struct coll_wrong *ret,
	       struct err *err);

/*
 * Bus bandwidth in bytes/s: 2 (n-1)/n x bytes / s for an all-reduce or COLL_PASS_ON, (n-1)/n x
 * bytes / s for an all-to-all.
 */
double coll_busbw(const struct coll_op *op, unsigned n, double seconds);

/* Time from the first arrival to the last end among the ranks of this process; NAN if unknown. */
double coll_seconds(const struct coll *c);
