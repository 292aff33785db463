/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the hosts of a job are by their own tests, as who runs the tests wrote it down:
 *
 *	{"v": 1, "spread": 0.031, "low": 0.89, "ranks": [[0, 8, 0.987], [8, 8, 1.012]]}
 *
 * Each of `ranks` is the first rank, how many, and the speed that all of these have at least:
 * 1 is what hosts of its model usually reach. They are in order and do not overlap; a rank of
 * none is not known. `spread` (may be left out) is how far good hosts differ, one standard
 * deviation, and `low` the speed that one in two hundred good GPUs does not reach.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/silicon.h"

struct err;
struct trace_job;

enum {
	SPEEDS_SPANS_MAX = 1 << 18,	    /* as many as workers of a trace */
	SPEEDS_FILE_MAX = 16 * 1024 * 1024, /* bytes */
};

/* No host is so many times slower or faster than its like. */
#define SPEEDS_LEAST 0.01
#define SPEEDS_MOST 100.0

/* How far good hosts may differ. */
#define SPEEDS_SPREAD_MOST 0.5

struct speeds_span {
	int64_t first, n; /* ranks */
	double speed;
};

struct speeds {
	struct speeds_span *spans; /* owned; ascending */
	size_t n;
	struct silicon good; /* its members are 0 where it does not say */
};

/* -EINVAL, -EIO ... with the file and the place in it. */
int speeds_read(const char *path, struct speeds *ret, struct err *err);
void speeds_release(struct speeds *speeds);

/*
 * Of each worker, by its ranks: that of the slowest of them, NAN where one is not known. New
 * memory, [d * pp + stage].
 */
double *speeds_of_workers(const struct speeds *speeds, const struct trace_job *job);
