/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of earlier runs still stands beside the newest of their profile
 * (lib/judge/standing.h), as the text of a column: a JSON array of
 * {"verdict": what is not pass, "measured": what is, as a coverage_codec}. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct pool;
struct verdict;

/* As text, new memory; NULL when there are none. */
char *standing_codec_encode(const struct verdict *kept, size_t n);

/*
 * Read it: at most `max` verdicts of this node into `ret`, whose items borrow their
 * texts from `pool`; returns how many. What is broken is left out.
 */
size_t standing_codec_decode(const char *text, const char *node, struct pool *pool,
			     struct verdict *ret, size_t max);
