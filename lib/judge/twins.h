/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of one report that are of one thing: of one subject and one kind (reference.h).
 * A probe that measures a thing twice, or is named twice, makes no second witness of it:
 * its peers, the fleet and its own history see one value, the median of what was measured. Pure.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/judge/reference.h"

struct report;

struct twins {
	/* Of each sample of the report: */
	struct measure *measure; /* measure_of() it; without a family when it has none */
	size_t *first; /* the number of the first one of its thing: its own, unless it is a repeat */
	double *value; /* what its thing counts as; its own value when there is no other */
};

void twins_find(const struct report *report, struct twins *ret);
void twins_release(struct twins *t);

/* Was what sample number `i` measures measured by one before it? */
static inline bool twins_repeat(const struct twins *t, size_t i)
{
	return t->first[i] != i;
}
