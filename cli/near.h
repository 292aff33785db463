/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": names that differ from a mistyped one by little. Pure. */
#pragma once

#include <jansson.h>

enum { NEAR_NAME_MAX = 128, NEAR_SHOWN = 3 };

/*
 * Insertions, deletions, replacements and swaps of neighbours from `a` to `b`
 * (Damerau 1964, each part of a name edited once), names cut to NEAR_NAME_MAX.
 */
unsigned near_distance(const char *a, const char *b);

/*
 * "gpu-17, gpu-07": the member `key` of the items that is nearest to `name`, at
 * most NEAR_SHOWN, clean; "" when none is near. New memory.
 */
char *near_names(const json_t *items, const char *key, const char *name);
