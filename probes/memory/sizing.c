/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/sizing.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"

/* Round down to a power of two; 0 stays 0. */
static uint64_t floor_power(uint64_t value)
{
	uint64_t power = 1;

	if (value == 0)
		return 0;
	while (power <= value / 2)
		power *= 2;
	return power;
}

/* Round up to a power of two, at most SIZING_MAX. */
static uint64_t ceil_power(uint64_t value)
{
	uint64_t power = SIZING_MIN;

	while (power < value && power < SIZING_MAX)
		power *= 2;
	return power;
}

int sizing_plan(uint64_t free_bytes, uint64_t llc_bytes, uint64_t last_bytes, struct sizing *ret)
{
	uint64_t most = floor_power(MIN(SIZING_MAX, free_bytes / SIZING_FREE_PART));
	uint64_t least = most / 2;

	if (most < SIZING_MIN)
		return -ENOMEM;
	if (llc_bytes)
		least = ceil_power(MIN(llc_bytes, SIZING_MAX) * SIZING_CACHES);
	if (last_bytes)
		least = ceil_power(last_bytes) / 2;
	ret->least = MAX(SIZING_MIN, MIN(least, most / 2));
	ret->most = most;
	return 0;
}

static bool agree(double a, double b)
{
	return fabs(a - b) <= SIZING_AGREE * MAX(a, b);
}

/* Find the first possible size, from `least` downwards. */
static int find_first(const struct sizing *s, sizing_measure *measure, void *context,
		      struct sizing_result *result)
{
	uint64_t bytes;
	int r = -ENOSPC;

	for (bytes = s->least; bytes >= SIZING_MIN && r == -ENOSPC; bytes /= 2) {
		r = measure(context, bytes, &result->rate);
		result->bytes = bytes;
		result->tried++;
	}
	return r;
}

/* Compare with half the size, which is possible; the result keeps its own size. */
static int compare_half(sizing_measure *measure, void *context, struct sizing_result *result)
{
	double rate = 0;
	int r;

	if (result->bytes / 2 < SIZING_MIN)
		return 0;
	r = measure(context, result->bytes / 2, &rate);
	if (r < 0)
		return r;
	result->tried++;
	result->settled = agree(result->rate, rate);
	return 0;
}

static int double_until_settled(const struct sizing *s, sizing_measure *measure, void *context,
				struct sizing_result *result)
{
	while (!result->settled && result->bytes * 2 <= s->most) {
		double rate = 0;
		int r = measure(context, result->bytes * 2, &rate);

		if (r == -ENOSPC)
			return compare_half(measure, context, result);
		if (r < 0)
			return r;
		result->tried++;
		result->settled = agree(result->rate, rate);
		result->bytes *= 2;
		result->rate = rate;
	}
	return 0;
}

int sizing_find(const struct sizing *s, sizing_measure *measure, void *context,
		struct sizing_result *ret)
{
	struct sizing_result result = { 0 };
	int r = find_first(s, measure, context, &result);

	if (r == 0 && result.bytes < s->least)
		r = compare_half(measure, context, &result);
	else if (r == 0)
		r = double_until_settled(s, measure, context, &result);
	if (r < 0)
		return r;
	*ret = result;
	return 0;
}
