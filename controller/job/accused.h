/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts a job has accused, and of which its tests acquitted them: a list of JSON that is
 * kept with what is shown of the job, "accused": [{"node", "class", "since" (it is a suspect),
 * "last" (the newest window that blames it ended), "acquitted", "told"}], a host once. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* Of one job; those of which it was longest said make room. */
enum { ACCUSED_MAX = 256 };

/* Those of `before`, a list or NULL, that were said, or acquitted, since `since_us`. New reference. */
json_t *accused_recall(const json_t *before, uint64_t since_us);

/* The entry of a host, borrowed; NULL: none. */
json_t *accused_find(const json_t *list, const char *node);

/* What a job says of a host. */
struct accused_words {
	const char *node, *class;
	uint64_t since_us, last_us;
};

/* Say it, in place of what was said; when it was acquitted and told of stays. Borrowed. */
json_t *accused_note(json_t *list, const struct accused_words *words);

uint64_t accused_stamp(const json_t *entry, const char *key);
