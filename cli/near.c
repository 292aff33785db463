/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/near.h"

#include <stdint.h>
#include <stdlib.h>

#include "lib/base/distance.h"
#include "lib/base/macro.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"

/* Index of the nearest item after `*taken`: by distance, then by index. */
static size_t next_nearest(const json_t *items, const char *key, const char *name, uint64_t *taken)
{
	uint64_t best = UINT64_MAX;
	size_t i;

	for (i = 0; i < json_array_size(items); i++) {
		const char *other =
			json_string_value(json_object_get(json_array_get(items, i), key));
		uint64_t rank = other ? (uint64_t)distance_between(name, other) << 32 | (i + 1)
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
