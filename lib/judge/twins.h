/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of one report about the same thing: of the same subject and kind (reference.h). A probe
 * that measures something twice, or is listed twice, is still one witness: peers, fleet and own
 * history see one value, the median. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/judge/reference.h"

struct report;

struct twins {
	/* All arrays are by sample of the report. */
	struct measure *measure; /* measure_of() it; no family if that failed */
	size_t *first; /* index of the first sample of the same thing: itself, unless it is a repeat */
	double *value; /* the median of its thing; its own value if there is no other */
};

void twins_find(const struct report *report, struct twins *ret);
void twins_release(struct twins *t);

/* True if an earlier sample measured the same thing as sample number `i`. */
static inline bool twins_repeat(const struct twins *t, size_t i)
{
	return t->first[i] != i;
}
