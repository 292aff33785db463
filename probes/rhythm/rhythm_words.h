/* SPDX-License-Identifier: Apache-2.0 */
/* What assay-rhythm prints: a table for people, and assay-rhythm/1 (docs/formats.md). */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "probes/rhythm/rhythm_counters.h"

/* The rows of one kind, appended to `rows`; one that is stuck is NULL, and says so. */
void rhythm_words_rows(enum rhythm_kind kind, const struct rhythm_set *set, json_t *rows,
		       json_t *missing);

/* The document, new reference; takes both lists. */
json_t *rhythm_words_document(double seconds, uint64_t every_us, json_t *rows, json_t *missing);

/* The same as a table of at most `width` columns. */
void rhythm_words_table(const json_t *document, FILE *out, bool colour, unsigned width);
