/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a window, each of some ranks: which belong together, and which never came. Pure. */
#pragma once

#include <stdint.h>

#include "controller/store/store_jobs.h"
#include "lib/base/duration.h"
#include "lib/base/strbuf.h"

struct err;

enum { PARTS_MISSING_MAX = 200 }; /* bytes of the names of parts that never came */

/*
 * What two parts of the same steps may be apart: their ages are those of two hosts' clocks, when
 * the requests were made.
 */
#define PARTS_APART_US (10 * USEC_PER_SEC)

/*
 * Is a part with steps of that time one of this window? -EEXIST: it is of other steps, as a rank of
 * the window took no sample then, and mixed with these it would spoil both. Of a window, or a part,
 * whose time nobody said (0) nothing is known.
 */
int parts_together(const struct store_trace_window *window, uint64_t from_us, uint64_t until_us,
		   struct err *err);

/* "3, 7-9": those that are not there. */
struct parts_missing {
	struct strbuf words;
	int64_t next; /* the first that was not looked at */
};

#define PARTS_MISSING_INIT                                         \
	{                                                          \
		.words = STRBUF_INIT(PARTS_MISSING_MAX), .next = 1 \
	}

/* `context` is a struct parts_missing. Parts come in their order; last, one more than there are. */
void parts_missing_came(void *context, int64_t part);
