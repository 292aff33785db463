/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a picture of a window needs beside its heat map: how long its steps took, a small map of
 * each, which operations are slow, what mending parts would give, and who its workers are. Pure.
 */
#pragma once

#include <jansson.h>

#include "attribution/attribution.h"

enum {
	DETAIL_STEPS_MAX = 60,	     /* of more, the slowest */
	DETAIL_LINES_MAX = 64,	     /* rows and columns of a step's map; of more, the worst */
	DETAIL_WORKERS_MAX = 4096,   /* of a job with more nobody is named */
	DETAIL_NAMES_MAX = 32 << 10, /* bytes of the names of its hosts together: likewise */
};

/* "detail" of assay-attribution-summary/1 (docs/formats.md). New reference. */
json_t *summary_detail(const struct attribution *attribution);
