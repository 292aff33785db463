/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/blame.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { LUCKY = 8 };

static int by_rate(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* The rate of a good link; NAN if none is known. */
static double good_rate(const double *rates, unsigned n)
{
	CLEANUP(freep) double *known = xcalloc(n, sizeof(*known));
	unsigned i, k = 0;

	for (i = 0; i < n; i++) {
		if (isfinite(rates[i]))
			known[k++] = rates[i];
	}
	if (k == 0)
		return NAN;
	qsort(known, k, sizeof(*known), by_rate);
	return known[k / LUCKY];
}

struct coll_blame coll_blame_slow(const double *rates, unsigned n)
{
	struct coll_blame blame = { .kind = COLL_BLAME_NOBODY, .share = 1 };
	const double good = good_rate(rates, n);
	unsigned i, slow = 0;

	for (i = 0; i < n; i++) {
		if (!(rates[i] < COLL_BLAME_SHARE * good))
			continue;
		slow++;
		if (rates[i] / good < blame.share) {
			blame.share = rates[i] / good;
			blame.rank = i;
		}
	}
	if (slow == 0)
		return blame;
	blame.kind = slow == 1 ? COLL_BLAME_LINK : COLL_BLAME_MANY;
	/* If two slow links follow each other, both belong to the rank between them. */
	for (i = 0; slow == 2 && n > 2 && i < n; i++) {
		const unsigned next = (i + 1) % n;

		if (rates[i] < COLL_BLAME_SHARE * good && rates[next] < COLL_BLAME_SHARE * good) {
			blame.kind = COLL_BLAME_RANK;
			blame.rank = next;
		}
	}
	return blame;
}
