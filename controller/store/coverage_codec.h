/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run found good, as a short text: a line "check TAB subject TAB unit"
 * an item, with " TAB held" (a letter for enum verdict_held) where that is known. Enough to tell
 * later what is missing, what a newer run of another profile has cleared, and what that it
 * is good is worth. Pure.
 */
#pragma once

#include "lib/base/macro.h"

struct pool;
struct verdict;

/* The pass items of `v` as text, new memory. Items with a tab or a line break in them are left out. */
char *coverage_codec_encode(const struct verdict *v);

/*
 * Append pass items for each line of `text` to `v`, which has room for
 * coverage_codec_count(text) more. Broken lines are left out. Their texts are in `pool`.
 */
void coverage_codec_decode(const char *text, struct pool *pool, struct verdict *v);

/* Most items that `text` can hold: its lines. */
size_t coverage_codec_count(const char *text);
