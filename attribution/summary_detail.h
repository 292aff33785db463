/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a page needs to show a window, besides the heat map: step times, a small map per step,
 * slow operations, the gain of fixing parts, and the names of workers. Pure.
 */
#pragma once

#include <jansson.h>

#include "attribution/attribution.h"

enum {
	DETAIL_STEPS_MAX = 60,	     /* of more, the slowest ones */
	DETAIL_LINES_MAX = 64,	     /* rows and columns of a step's map; of more, the worst ones */
	DETAIL_WORKERS_MAX = 4096,   /* no names for larger jobs */
	DETAIL_NAMES_MAX = 32 << 10, /* bytes of all host names; no names if there are more */
};

/* "detail" of assay-attribution-summary/1 (docs/formats.md). New reference. */
json_t *summary_detail(const struct attribution *attribution);
