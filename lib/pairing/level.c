/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pairing/level.h"

#include <math.h>

#include "lib/judge/stats.h"
#include "lib/pairing/view.h"

/* A level needs one value in this many: with half of the nodes bad, a quarter of pairs is good. */
enum { SUPPORT_PART = 16 };

/* Steps in which the middle of the highest values settles. */
enum { ANOMALIES_MAX = 20 };

/* Assumed spread of pairs while too few were seen: the judge's 15 % for few peers, as a sigma. */
#define SIGMA_PRIOR (REFERENCE_FEW_SLACK / REFERENCE_K)

struct measure pairing_measure(double value)
{
	return (struct measure){
		.value = value,
		.family = family_find("all_reduce.busbw", "B/s"),
		.slack = PAIRING_SLACK,
		.k = REFERENCE_K,
	};
}

double pairing_sigma(double shown, size_t n)
{
	double prior = REFERENCE_N_MIN, seen = (double)n;

	return sqrt((prior * SIGMA_PRIOR * SIGMA_PRIOR + seen * shown * shown) / (prior + seen));
}

/* The values within the slack for few peers around `at`: part of the sorted array. */
struct near {
	const double *first;
	size_t n;
};

static struct near near_to(const double *sorted, size_t n, double at)
{
	size_t low = 0, high = n;

	while (low < n && sorted[low] < at * (1 - REFERENCE_FEW_SLACK))
		low++;
	while (high > low && sorted[high - 1] > at * (1 + REFERENCE_FEW_SLACK))
		high--;
	return (struct near){ sorted + low, high - low };
}

/* From the highest value down to the middle of those around it. */
static struct near settle(const double *sorted, size_t n)
{
	struct near near = near_to(sorted, n, sorted[n - 1]);
	int i;

	for (i = 0; i < ANOMALIES_MAX; i++) {
		struct near next = near_to(sorted, n, stats_median(near.first, near.n));

		if (next.first == near.first && next.n == near.n)
			break;
		near = next;
	}
	return near;
}

void pairing_level_of(double *values, size_t n, struct pairing_level *ret)
{
	struct near near;
	struct measure m;
	struct expectation e;

	*ret = (struct pairing_level){ .known = false };
	if (n == 0)
		return;
	stats_sort(values, n);
	near = settle(values, n);
	/* A few values far above all others are no level: nothing is that good. */
	while (near.n * SUPPORT_PART < n && near.first > values)
		near = settle(values, (size_t)(near.first - values));
	ret->at = stats_median(near.first, near.n);
	m = pairing_measure(ret->at);
	if (!expectation_from_peers(&m, near.first, near.n, &e))
		return;
	ret->known = true;
	ret->floor = e.floor;
	ret->n = near.n;
}
