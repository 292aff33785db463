/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fleet reaches: per (SKU, check, class, params, unit, better side)
 * one value of each host that nobody suspects, the median over its parts.
 * A host that is suspected is forgotten until it is good again, so that sick
 * ones do not become the rule. Pure; kept in memory, learnt anew after a start.
 *
 * A host is never among its own references in a fleet of up to
 * BASELINE_EXACT_MAX; in a larger one its own value among the others does not
 * move their median, and a sorted copy serves until 5 % of the values are new.
 */
#pragma once

#include <jansson.h>

#include "lib/macro.h"

struct expectation;
struct measure;
struct report;
struct sample;
struct verdict;

enum { BASELINES_MAX = 20000, BASELINE_EXACT_MAX = 200, BASELINE_HOSTS_MAX = 1000000 };

struct baselines {
	void *tree; /* of struct baseline, by key */
	size_t n;
};

/* Learn from a report, or forget its host where it is not good; `merged` is over all profiles. */
void baselines_learn(struct baselines *b, const struct report *report,
		     const struct verdict *verdict, const struct verdict *merged);

/* What the other hosts of `sku` reach; false with fewer than REFERENCE_N_MIN of them. */
bool baselines_expect(const struct baselines *b, const struct report *report,
		      const struct sample *s, const struct measure *m, struct expectation *ret);

/* {"sku", "check", "class", "unit", "better", "params", "hosts", "median", "mad"} of each; new
 * reference. */
json_t *baselines_encode(const struct baselines *b);

void baselines_release(struct baselines *b);
