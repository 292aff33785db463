/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/near.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"

/* One more row of the table of distances: `row` from those of one and two bytes before. */
static void next_row(const char *a, const char *b, size_t i, unsigned (*rows)[NEAR_NAME_MAX + 1])
{
	unsigned *row = rows[i % 3], *before = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];
	size_t m = strnlen(b, NEAR_NAME_MAX), j;

	row[0] = (unsigned)i;
	for (j = 1; j <= m; j++) {
		unsigned replaced = before[j - 1] + (a[i - 1] != b[j - 1]);
		unsigned moved = MIN(before[j], row[j - 1]) + 1;

		row[j] = MIN(replaced, moved);
		if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
			row[j] = MIN(row[j], two[j - 2] + 1);
	}
}

unsigned near_distance(const char *a, const char *b)
{
	unsigned rows[3][NEAR_NAME_MAX + 1] = { 0 };
	size_t n = strnlen(a, NEAR_NAME_MAX), m = strnlen(b, NEAR_NAME_MAX), i;

	for (i = 0; i <= m; i++)
		rows[0][i] = (unsigned)i;
	for (i = 1; i <= n; i++)
		next_row(a, b, i, rows);
	return rows[n % 3][m];
}

/* The nearest item further than what was `taken`: by distance, then by place. */
static size_t next_nearest(const json_t *items, const char *key, const char *name, uint64_t *taken)
{
	uint64_t best = UINT64_MAX;
	size_t i;

	for (i = 0; i < json_array_size(items); i++) {
		const char *other =
			json_string_value(json_object_get(json_array_get(items, i), key));
		uint64_t rank = other ? (uint64_t)near_distance(name, other) << 32 | (i + 1)
				      : UINT64_MAX;

		if (rank > *taken && rank < best)
			best = rank;
	}
	*taken = best;
	return (size_t)(best & UINT32_MAX) - 1;
}

char *near_names(const json_t *items, const char *key, const char *name)
{
	uint64_t most = MAX(strlen(name) / 3, (size_t)2), taken = 0;
	char *text = xstrdup("");
	size_t i;

	for (i = 0; i < NEAR_SHOWN; i++) {
		size_t at = next_nearest(items, key, name, &taken);
		CLEANUP(freep) char *before = NULL;
		CLEANUP(freep) char *one = NULL;

		if (taken == UINT64_MAX || taken >> 32 > most)
			break;
		before = text;
		one = utf8_clean(json_string_value(json_object_get(json_array_get(items, at), key)));
		text = xasprintf("%s%s%s", before, *before ? ", " : "", one);
	}
	return text;
}
