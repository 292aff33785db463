/* SPDX-License-Identifier: Apache-2.0 */
/* Data for the plan of a job: `remedies` of `detail` in the result of `assay-attribute --summary`
 * (docs/formats.md). Pure. */
#pragma once

#include <jansson.h>

struct err;
struct jval;

enum {
	SUMMARY_REMEDIES_SETS_MAX = 16,
	SUMMARY_REMEDIES_MICROBATCHES_MAX = 32768,
};

/*
 * Check it into "remedies" of `ret`, dropping unknown members. Does nothing if `v` is missing, as
 * in an analysis from an earlier version.
 */
int summary_remedies_take(const struct jval *v, json_t *ret, struct err *err);
