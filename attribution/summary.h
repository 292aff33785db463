/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller keeps of a window: the slowdown, its cause, whom to suspect and how
 * sure that is, as one small JSON object. Pure.
 */
#pragma once

#include <jansson.h>

#include "attribution/attribution.h"

/* The slowdown at which a summary begins to look for a cause: intervals guard the lower cut. */
#define SUMMARY_STRAGGLING 1.03

enum {
	SUMMARY_CELLS_MAX = 4096,     /* of the heat map; larger jobs are pooled, by the worst */
	SUMMARY_SPANS_MAX = 1024,     /* of the ranks of a suspect; of more none is said */
	SUMMARY_SIZE_MAX = 256 << 10, /* bytes of all of it */
};

/* assay-attribution-summary/1 of docs/formats.md. New reference. */
json_t *summary_document(const struct attribution *attribution);

/* {"value", "low", "high"}, null where not finite. New reference. */
json_t *summary_interval(const struct interval *interval);

/* The suspects of that document. New reference. */
json_t *summary_suspects(const struct attribution *attribution);
