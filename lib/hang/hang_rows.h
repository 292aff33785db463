/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The position of each rank of a hung job, one row per rank: its last operation, in which group,
 * and whom it waits for. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/hang/hang_case.h"

enum { HANG_ROW_WAITS_MAX = 8 }; /* ranks that are listed */

struct hang_row {
	uint32_t rank;
	int64_t group; /* index of the group it waits in, else of its last one; -1: unknown */
	int64_t seq;   /* number of the operation there; HANG_UNKNOWN */
	char op[40];   /* its name; "": unknown */
	bool waits;    /* it has begun an operation that has not ended */
	uint32_t waits_for[HANG_ROW_WAITS_MAX]; /* members that are behind it there */
	size_t n_waits_for;			/* total number, may exceed the array */
};

/* Rows of all ranks, [n_ranks], by rank; new memory. */
struct hang_row *hang_rows_new(const struct hang_case *c);

/*
 * [{rank, node, gpu, sources[], process, for_s, where, group, group_desc, op, seq, waits: bool,
 * waits_for: [int], waits_for_more}] of up to `most` ranks from `first` on; unknown values are
 * null. New reference.
 */
json_t *hang_rows_json(const struct hang_case *c, const struct hang_row *rows, size_t first,
		       size_t most);
