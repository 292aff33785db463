/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups sequences by length, each group run with a plan of its own, and orders the plans: HotSPa
 * (Ge et al., SOSP 2024; PKU-DAIR/Hetu 9e47240).
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	HOTSPA_SEQUENCES_MAX = 65536,
	HOTSPA_GROUPS_MAX = 64,
	HOTSPA_PLANS_MAX = 16, /* for hotspa_order(), which is exact: 2^n * n^2 */
};

/* Lengths in tokens; group g has those with bounds[g + 1] < length <= bounds[g]. */
struct hotspa_wish {
	const uint64_t *lengths; /* in any order */
	size_t n;
	const uint64_t *bounds; /* descending; n_bounds is the number of groups plus one */
	size_t n_bounds;
};

/* A placed sequence; sorted by group, then by pack. */
struct hotspa_place {
	uint64_t length;
	size_t group;
	size_t pack; /* within the group; packs are padded to its bound */
};

/*
 * Sorts the sequences by descending length and writes them to ret_places[n], by group. Within a
 * group, each pack takes the longest one left and then each later one that still fits under the
 * bound. -ERANGE for a length that fits no group, -EINVAL for bounds that do not descend or counts
 * beyond their limits.
 */
int hotspa_group(const struct hotspa_wish *wish, struct hotspa_place *ret_places, struct err *err);

/*
 * The cheapest order of switching through `n` plans, starting and ending at `first` (which holds
 * the parameters): cost[a * n + b] seconds from a to b, 0 or more. Exact (Held and Karp); of equals
 * the first in order. Fills ret_order[n + 1] and `ret_total`. -EINVAL for more than
 * HOTSPA_PLANS_MAX plans, or an invalid `first`.
 */
int hotspa_order(const double *cost, size_t n, size_t first, size_t *ret_order, double *ret_total,
		 struct err *err);
