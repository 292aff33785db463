/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/silicon.h"

#include <math.h>

#include "lib/base/macro.h"

/* From the 10th to the 90th percentile of a normal distribution, in standard deviations. */
#define NORMAL_MIDDLE 2.563

double silicon_spread(const double *sorted, size_t n)
{
	const double weight = SILICON_WEIGHT, last = n > 0 ? (double)(n - 1) : 0;
	double seen = SILICON_SPREAD;

	if (n > 0)
		seen = (sorted[(size_t)(0.9 * last)] - sorted[(size_t)(0.1 * last)]) /
		       NORMAL_MIDDLE / sorted[n / 2];
	seen = MAX(seen, SILICON_SPREAD_LEAST);
	return exp((weight * log(SILICON_SPREAD) + (double)n * log(seen)) / (weight + (double)n));
}

double silicon_better_spread(const double *sorted, size_t n)
{
	if (n == 0)
		return 0;
	return (sorted[(size_t)(0.9 * (double)(n - 1))] / sorted[n / 2] - 1) / (NORMAL_MIDDLE / 2);
}

double silicon_limit(double usual, double spread)
{
	return usual * exp(-SILICON_TAIL * spread);
}

double silicon_low(const double *sorted, size_t n)
{
	return n > 0 ? silicon_limit(sorted[n / 2], silicon_spread(sorted, n)) : 0;
}

void silicon_widen(struct silicon *into, const struct silicon *other)
{
	into->spread = MAX(into->spread, other->spread);
	into->low = into->low > 0 ? MIN(into->low, other->low) : other->low;
}
