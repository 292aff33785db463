/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store needs when nobody asks, a little at a time: thin what is old, look through the
 * pages, go on with a copy, read where hosts are from what an older version left unread.
 */
#pragma once

#include "controller/store/retention_job.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct store;

/* How long one kind of work may take before something else has its turn. */
#define STORE_UPKEEP_SLICE_US (2 * USEC_PER_MSEC)

struct store_upkeep {
	struct retention_job retention;
	bool looking;	  /* a round through the pages of the store is under way */
	uint64_t look_us; /* monotonic; when the next begins */
};

/*
 * A slice of thinning, and a slice each of the rest, which began at the monotonic `now_us`: 1 when
 * there is more to do at once, else 0. What they write is in the open transaction.
 */
int store_upkeep_thin(struct store_upkeep *u, struct store *store, uint64_t now_us, struct err *err);
int store_upkeep_look(struct store_upkeep *u, struct store *store, uint64_t now_us, struct err *err);

/* Go on with the copy of the store, if one is being made: 1 while it is. */
int store_upkeep_copy(struct store *store);
