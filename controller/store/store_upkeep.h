/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Background work on the store, a little at a time: delete old data, check the pages, continue a
 * copy, extract where hosts are from topologies stored by an older version.
 */
#pragma once

#include "controller/store/retention_job.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct store;

/* Time slice for one kind of work. */
#define STORE_UPKEEP_SLICE_US (2 * USEC_PER_MSEC)

struct store_upkeep {
	struct retention_job retention;
	bool looking;	  /* a check of the store's pages is in progress */
	uint64_t look_us; /* monotonic; begin of the next check */
};

/*
 * One slice of thinning, or one each of the rest, begun at the monotonic `now_us`. Returns 1 if
 * there is more to do at once, else 0. Writes are in the open transaction.
 */
int store_upkeep_thin(struct store_upkeep *u, struct store *store, uint64_t now_us, struct err *err);
int store_upkeep_look(struct store_upkeep *u, struct store *store, uint64_t now_us, struct err *err);

/* Continue the copy of the store, if there is one: returns 1 while it is in progress. */
int store_upkeep_copy(struct store *store);
