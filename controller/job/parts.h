/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a window, each for some of the ranks: which belong together, and which are missing.
 * Pure. */
#pragma once

#include <stdint.h>

#include "controller/store/store_jobs.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"

struct err;

enum { PARTS_MISSING_MAX = 200 }; /* bytes of the names of missing parts */

/*
 * Allowed difference between two parts of the same steps: their ages come from the clocks of two
 * hosts at the time of the request.
 */
#define PARTS_APART_US (10 * USEC_PER_SEC)

/*
 * Does a part with steps of that time belong to this window? -EEXIST: it has other steps, because a
 * rank of the window took no sample then, and mixing them would spoil both. If the time of either
 * is unknown (0), it fits.
 */
int parts_together(const struct store_trace_window *window, uint64_t from_us, uint64_t until_us,
		   struct err *err);

/* "3, 7-9": the missing parts. */
struct parts_missing {
	struct strbuf words;
	int64_t next; /* the first part not checked yet */
};

#define PARTS_MISSING_INIT                                         \
	{                                                          \
		.words = STRBUF_INIT(PARTS_MISSING_MAX), .next = 1 \
	}

/* `context` is a struct parts_missing. Call it for the parts in order; at last with the number of
 * parts plus one. */
void parts_missing_came(void *context, int64_t part);
