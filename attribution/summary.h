/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller stores of a window: the slowdown, its cause, the suspects and their
 * certainty, as one small JSON object. Pure.
 */
#pragma once

#include <jansson.h>

#include "attribution/attribution.h"

/*
 * The slowdown from which a summary looks for a cause: lower than usual, as it also checks
 * intervals.
 */
#define SUMMARY_STRAGGLING 1.03

enum {
	SUMMARY_CELLS_MAX = 4096,     /* of the heat map; larger jobs are pooled by their worst */
	SUMMARY_SPANS_MAX = 1024,     /* of a suspect's ranks; omitted if there are more */
	SUMMARY_SIZE_MAX = 256 << 10, /* bytes of the document */
};

/* assay-attribution-summary/1 of docs/formats.md. New reference. */
json_t *summary_document(const struct attribution *attribution);

/* {"value", "low", "high"}, null where not finite. New reference. */
json_t *summary_interval(const struct interval *interval);

/* The suspects in that document. New reference. */
json_t *summary_suspects(const struct attribution *attribution);
