/* SPDX-License-Identifier: Apache-2.0 */
/* How far a mistyped word is from the one that was meant. Pure. */
#pragma once

#include <stdbool.h>

enum { DISTANCE_NAME_MAX = 128 };

/*
 * Insertions, deletions, replacements and swaps of neighbours from `a` to `b`
 * (Damerau 1964, each part of a name edited once), names cut to DISTANCE_NAME_MAX.
 */
unsigned distance_between(const char *a, const char *b);

/* Is `b` near enough to `a` to be meant by it: a third of its letters, two at least? */
bool distance_is_near(const char *a, const char *b);
