/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each rank of a hung job stands, a row each: what it does last, in which group, and whom it
 * waits for. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/hang/hang_case.h"

enum { HANG_ROW_WAITS_MAX = 8 }; /* ranks that are named */

struct hang_row {
	uint32_t rank;
	int64_t group; /* place of the group that it waits in, else of its last; -1: not known */
	int64_t seq;   /* number of the operation there; HANG_UNKNOWN */
	char op[40];   /* its name; "": not known */
	bool waits;    /* it has begun what has not ended */
	uint32_t waits_for[HANG_ROW_WAITS_MAX]; /* members that are behind it there */
	size_t n_waits_for;			/* all of them; more than the array holds */
};

/* Rows of all ranks, [n_ranks], by rank; new memory. */
struct hang_row *hang_rows_new(const struct hang_case *c);

/*
 * [{rank, node, gpu, sources[], process, for_s, where, group, group_desc, op, seq, waits: bool,
 *   waits_for: [int], waits_for_more}] of the ranks from `first`, at most `most`: what is not known
 * is null. New reference.
 */
json_t *hang_rows_json(const struct hang_case *c, const struct hang_row *rows, size_t first,
		       size_t most);
