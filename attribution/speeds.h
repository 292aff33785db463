/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speeds of a job's hosts in their own tests, as written by whoever runs the tests:
 *
 *	{"v": 1, "spread": 0.031, "low": 0.89, "ranks": [[0, 8, 0.987], [8, 8, 1.012]]}
 *
 * Each entry of `ranks` is the first rank, their number, and the speed that all of them reach: 1
 * is usual for hosts of the model. Entries are sorted and do not overlap; the speed of other
 * ranks is unknown. `spread` (optional) is one standard deviation of good hosts, and `low` the
 * speed that one good GPU in two hundred does not reach.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/silicon.h"

struct err;
struct trace_job;

enum {
	SPEEDS_SPANS_MAX = 1 << 18,	    /* as many as a trace may have workers */
	SPEEDS_FILE_MAX = 16 * 1024 * 1024, /* bytes */
};

/* No host is faster or slower than its peers by such factors. */
#define SPEEDS_LEAST 0.01
#define SPEEDS_MOST 100.0

/* Largest allowed spread of good hosts. */
#define SPEEDS_SPREAD_MOST 0.5

struct speeds_span {
	int64_t first, n; /* ranks */
	double speed;
};

struct speeds {
	struct speeds_span *spans; /* owned; ascending */
	size_t n;
	struct silicon good; /* members not in the file are 0 */
};

/* -EINVAL, -EIO ... with the file and the place in it. */
int speeds_read(const char *path, struct speeds *ret, struct err *err);
void speeds_release(struct speeds *speeds);

/*
 * Speed of each worker: that of the slowest of its ranks, NAN if any is unknown. [d * pp +
 * stage]; the caller frees it.
 */
double *speeds_of_workers(const struct speeds *speeds, const struct trace_job *job);
