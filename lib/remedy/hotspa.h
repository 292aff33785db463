/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sequences in groups by their length, each group run by a plan of its own, and the order of
 * the plans: HotSPa (Ge et al., SOSP 2024; PKU-DAIR/Hetu 9e47240).
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
	HOTSPA_PLANS_MAX = 16, /* of hotspa_order(), which is exact: 2^n * n^2 */
};

/* Lengths in tokens; group g holds those with bounds[g + 1] < length <= bounds[g]. */
struct hotspa_wish {
	const uint64_t *lengths; /* in any order */
	size_t n;
	const uint64_t *bounds; /* descend; n_bounds is one more than there are groups */
	size_t n_bounds;
};

/* A sequence in its place. They are in the order of groups, then of packs. */
struct hotspa_place {
	uint64_t length;
	size_t group;
	size_t pack; /* within the group, padded to its bound */
};

/*
 * Sort the sequences by descending length and put them in ret_places[n], by group; within a
 * group each pack takes the longest left and then each later one that still fits under the
 * bound. -ERANGE for a length that no group holds, -EINVAL for bounds that do not descend or
 * counts out of their limits.
 */
int hotspa_group(const struct hotspa_wish *wish, struct hotspa_place *ret_places, struct err *err);

/*
 * The order of `n` plans that costs least to switch through, beginning and ending at `first`
 * (it holds the parameters): cost[a * n + b] seconds from a to b, 0 or more. Exact (Held and
 * Karp); of equals the order that comes first. ret_order[n + 1], and its cost in `ret_total`.
 * -EINVAL for more than HOTSPA_PLANS_MAX plans, or a first that is none of them.
 */
int hotspa_order(const double *cost, size_t n, size_t first, size_t *ret_order, double *ret_total,
		 struct err *err);
