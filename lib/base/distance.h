/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance, to guess which name a mistyped word stands for. Pure. */
#pragma once

#include <stdbool.h>

enum { DISTANCE_NAME_MAX = 128 };

/*
 * Optimal string alignment distance (Damerau 1964): insertions, deletions, replacements and swaps
 * of neighbours, each part edited once. Names are cut to DISTANCE_NAME_MAX.
 */
unsigned distance_between(const char *a, const char *b);

/* True if `a` may be a misspelling of `b`: the distance is at most 2, or a third of `a`. */
bool distance_is_near(const char *a, const char *b);
