/* SPDX-License-Identifier: Apache-2.0 */
/* How many items of a verdict came to what. Pure. */
#pragma once

#include <stddef.h>

struct verdict;
struct verdict_item;

/* In the order in which a table has them: the good first. */
enum verdict_count {
	COUNT_PASS,
	COUNT_MEASURED,
	COUNT_INCONCLUSIVE,
	COUNT_WARN,
	COUNT_FAIL,
	COUNTS
};

/* "pass", "measured", "inconclusive", "warn", "fail": what a table and `counts` call them. */
extern const char *const verdict_count_names[];

/*
 * What an item counts as: COUNT_MEASURED is a pass that was held against nothing, which says
 * that there is a value and not that it is good.
 */
enum verdict_count verdict_count_of(const struct verdict_item *item);

/* All items, by what they count as. */
void verdict_count(const struct verdict *v, size_t ret[static COUNTS]);
