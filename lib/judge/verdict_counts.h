/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the items of a verdict by result. Pure. */
#pragma once

#include <stddef.h>

struct verdict;
struct verdict_item;

/* In the order of a table's columns: good ones first. */
enum verdict_count {
	COUNT_PASS,
	COUNT_MEASURED,
	COUNT_INCONCLUSIVE,
	COUNT_WARN,
	COUNT_FAIL,
	COUNTS
};

/* "pass", "measured", "inconclusive", "warn", "fail": names in tables and in `counts`. */
extern const char *const verdict_count_names[];

/*
 * What an item counts as. COUNT_MEASURED is a pass that was compared with nothing: there is a
 * value, but nobody knows whether it is good.
 */
enum verdict_count verdict_count_of(const struct verdict_item *item);

/* Counts all items. */
void verdict_count(const struct verdict *v, size_t ret[static COUNTS]);
