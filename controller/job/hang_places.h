/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which host each rank of a job is, as hosts report what they run (store_placements.h): a host
 * is trusted about a hang of these ranks only.
 *
 * A rank is on the only host that has it now; or, if none has it now, on the only one that had it
 * last, at most HANG_PLACES_LATELY_US ago, as killed ranks are still asked for. If two hosts claim
 * it, it is on none: a lying host can cast doubt on a rank or claim it, but not place it on another
 * host.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define HANG_PLACES_LATELY_US (15 * USEC_PER_MIN)

struct err;
struct store;

/* Zeroed: nothing is known. */
struct hang_places {
	char **nodes; /* owned; [n_nodes], unique */
	size_t n_nodes;
	uint16_t *of; /* owned; [n_ranks] 1 + index in `nodes`; 0: unknown */
	size_t n_ranks;
	int64_t run; /* the newest run of current ranks; 0: unknown */
};

/* Read them again. Returns a negative errno if the store cannot be read; `p` is then unchanged. */
int hang_places_read(struct hang_places *p, struct store *store, const char *job, uint64_t now_us,
		     struct err *err);

/* The host of a rank, borrowed; NULL: unknown. */
const char *hang_places_node(const struct hang_places *p, int64_t rank);

/* Does the host have any rank? */
bool hang_places_has(const struct hang_places *p, const char *node);

void hang_places_release(struct hang_places *p);
