/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan of a job needs of a window: `remedies` of `detail` of what `assay-attribute
 * --summary` found (docs/formats.md). Pure. */
#pragma once

#include <jansson.h>

struct err;
struct jval;

enum {
	SUMMARY_REMEDIES_SETS_MAX = 16,
	SUMMARY_REMEDIES_MICROBATCHES_MAX = 32768,
};

/*
 * Checked into "remedies" of `ret`, what is not known left out; nothing where `v` is not there, as
 * of an analysis of an earlier version.
 */
int summary_remedies_take(const struct jval *v, json_t *ret, struct err *err);
