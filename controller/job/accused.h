/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts that a job has accused, and those among them that their tests acquitted: a JSON list
 * stored with the job, "accused": [{"node", "class", "since" (suspect since), "last" (end of the
 * newest window that blames it), "acquitted", "told"}], each host once. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* Per job; the entries accused longest ago make room. */
enum { ACCUSED_MAX = 256 };

/* Returns the entries of `before` (a list or NULL) accused or acquitted after `since_us`. New
 * reference. */
json_t *accused_recall(const json_t *before, uint64_t since_us);

/* Returns the entry of a host, borrowed; NULL: none. */
json_t *accused_find(const json_t *list, const char *node);

/* An accusation of a host by a job. */
struct accused_words {
	const char *node, *class;
	uint64_t since_us, last_us;
};

/* Store the accusation in place of an earlier one, keeping "acquitted" and "told". Returns the
 * entry, borrowed. */
json_t *accused_note(json_t *list, const struct accused_words *words);

uint64_t accused_stamp(const json_t *entry, const char *key);
