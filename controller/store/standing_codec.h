/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of earlier runs that still hold beside the newest of their profile
 * (lib/judge/standing.h), as the text of a column: a JSON array of {"verdict": items that are not
 * pass, "measured": passed ones, as a coverage_codec}. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pool;
struct verdict;

/* As text, new memory; NULL if there are none. */
char *standing_codec_encode(const struct verdict *kept, size_t n);

/*
 * Decode at most `max` verdicts of this node into `ret`, with texts stored in `pool`; returns their
 * number. Broken ones are skipped.
 */
size_t standing_codec_decode(const char *text, const char *node, struct pool *pool,
			     struct verdict *ret, size_t max);
