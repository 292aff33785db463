/* SPDX-License-Identifier: Apache-2.0 */
/* The output of assay-rhythm: a table for people, and assay-rhythm/1 (docs/formats.md). */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "probes/rhythm/rhythm_counters.h"

/* Append the rows of one kind to `rows`. A NULL `set` hangs, and is reported in `missing`. */
void rhythm_words_rows(enum rhythm_kind kind, const struct rhythm_set *set, json_t *rows,
		       json_t *missing);

/* The document, a new reference; takes ownership of both lists. */
json_t *rhythm_words_document(double seconds, uint64_t every_us, json_t *rows, json_t *missing);

/* Print it as a table of at most `width` columns. */
void rhythm_words_table(const json_t *document, FILE *out, bool colour, unsigned width);
