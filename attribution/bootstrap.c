/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/splitmix.h"
#include "lib/base/xalloc.h"

/* Arbitrary but fixed. */
#define SEED 0x6173736179u

/* Half of the probability outside the interval. */
#define TAIL 0.025

static size_t block_of(size_t n_steps)
{
	return MIN((size_t)BOOTSTRAP_BLOCK, n_steps);
}

struct bootstrap bootstrap_new(size_t n_steps, size_t n_draws)
{
	size_t block = block_of(n_steps), i;
	struct bootstrap b = { n_steps, n_draws, (n_steps + block - 1) / block, NULL };
	uint64_t state = SEED;

	b.starts = xcalloc(n_draws * b.n_blocks + 1, sizeof(*b.starts));
	for (i = 0; i < n_draws * b.n_blocks; i++)
		b.starts[i] = (uint32_t)(splitmix_next(&state) % (n_steps - block + 1));
	return b;
}

void bootstrap_release(struct bootstrap *bootstrap)
{
	free(bootstrap->starts);
	*bootstrap = (struct bootstrap){ 0 };
}

bool bootstrap_is_enough(const struct bootstrap *bootstrap)
{
	return bootstrap->n_steps >= BOOTSTRAP_STEPS_MIN;
}

/* The last block of a draw is truncated, so that each draw has as many steps as the trace. */
static double mean_of_draw(const struct bootstrap *b, const uint32_t *starts, const double *times)
{
	size_t block = block_of(b->n_steps), left = b->n_steps, i, j;
	double sum = 0;

	for (i = 0; i < b->n_blocks; i++) {
		for (j = 0; j < MIN(block, left); j++)
			sum += times[starts[i] + j];
		left -= MIN(block, left);
	}
	return sum / (double)b->n_steps;
}

void bootstrap_means(const struct bootstrap *b, const double *times, double *ret_means)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < b->n_steps; i++)
		sum += times[i];
	ret_means[0] = sum / (double)b->n_steps;
	for (i = 0; i < b->n_draws; i++)
		ret_means[1 + i] = mean_of_draw(b, b->starts + i * b->n_blocks, times);
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Interpolate between two of the sorted draws. */
static double point(const double *sorted, size_t n, double share)
{
	double at = share * (double)(n - 1);
	size_t i = MIN((size_t)at, n - 1), next = MIN(i + 1, n - 1);

	return sorted[i] + (at - (double)i) * (sorted[next] - sorted[i]);
}

struct interval bootstrap_interval(const struct bootstrap *b, double *values)
{
	struct interval interval = { values[0], NAN, NAN };
	double blocks = (double)b->n_steps / (double)block_of(b->n_steps), wider;
	size_t i;

	if (!bootstrap_is_enough(b))
		return interval;
	for (i = 0; i <= b->n_draws; i++) {
		if (isnan(values[i]))
			return interval;
	}
	wider = sqrt(blocks / (blocks - 1));
	qsort(values + 1, b->n_draws, sizeof(*values), by_value);
	interval.low = MIN(values[0] + wider * (point(values + 1, b->n_draws, TAIL) - values[0]),
			   values[0]);
	interval.high =
		MAX(values[0] + wider * (point(values + 1, b->n_draws, 1 - TAIL) - values[0]),
		    values[0]);
	return interval;
}
