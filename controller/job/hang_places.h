/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which host each rank of a job is, as hosts say what they run (store_placements.h): of no
 * other rank a host is believed what it says of a hang.
 *
 * A rank is on the host that alone has it now; or, where none has it now, on the one that alone
 * had it last, and not longer ago than HANG_PLACES_LATELY_US: what was killed is still asked for.
 * It is on none where two claim it: who lies can put a rank in doubt, or on itself; never on
 * another host.
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
	char **nodes; /* owned; [n_nodes], each once */
	size_t n_nodes;
	uint16_t *of; /* owned; [n_ranks] 1 + the place in `nodes`; 0: not known */
	size_t n_ranks;
	int64_t run; /* the newest that a rank of now is of; 0: none says */
};

/* Read them anew. A negative errno: the store cannot be read, and `p` stays as it was. */
int hang_places_read(struct hang_places *p, struct store *store, const char *job, uint64_t now_us,
		     struct err *err);

/* The host of a rank, borrowed; NULL: it is not known. */
const char *hang_places_node(const struct hang_places *p, int64_t rank);

/* Has the host any rank? */
bool hang_places_has(const struct hang_places *p, const char *node);

void hang_places_release(struct hang_places *p);
