/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passed items of a run as a short text: a line "check TAB subject TAB unit" for each, with "
 * TAB held" (a letter for enum verdict_held) if known. From it can be told later what is missing,
 * what a newer run of another profile has cleared, and how much the pass is worth. Pure.
 */
#pragma once

#include "lib/base/macro.h"

struct pool;
struct verdict;

/* The passed items of `v` as text, new memory. Skips items containing a tab or a line break. */
char *coverage_codec_encode(const struct verdict *v);

/*
 * Append a passed item for each line of `text` to `v`, which must have room for
 * coverage_codec_count(text) more. Broken lines are skipped. The texts are stored in `pool`.
 */
void coverage_codec_decode(const char *text, struct pool *pool, struct verdict *v);

/* Upper bound of the number of items in `text`: its lines. */
size_t coverage_codec_count(const char *text);
