/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/trend.h"

#include <math.h>

#include "lib/judge/stats.h"

/* exp(6.5) is a factor of 665; ratios beyond it are not distinguished. */
#define STEPS 5000.0

void trend_push(struct trend *t, double ratio)
{
	if (!(ratio > 0) || !isfinite(ratio))
		return;
	t->logs[t->next] = (int16_t)lrint(fmax(fmin(log(ratio) * STEPS, INT16_MAX), INT16_MIN));
	t->next = (uint8_t)((t->next + 1) % TREND_MAX);
	t->n = (uint8_t)MIN(t->n + 1, (int)TREND_MAX);
}

size_t trend_ratios(const struct trend *t, double ret_ratios[static TREND_MAX])
{
	size_t i;

	for (i = 0; i < t->n; i++)
		ret_ratios[i] = exp((double)t->logs[i] / STEPS);
	return t->n;
}

double trend_usual(const struct trend *t)
{
	double logs[TREND_MAX];
	size_t i;

	for (i = 0; i < t->n; i++)
		logs[i] = (double)t->logs[i];
	stats_sort(logs, t->n);
	return t->n ? exp(stats_median(logs, t->n) / STEPS) : NAN;
}

double trend_center(const double *sorted, size_t n)
{
	const size_t from = n > 2, to = n > 2 ? n - 1 : n;
	double sum = 0;
	size_t i;

	for (i = from; i < to; i++)
		sum += log(sorted[i]);
	return n ? exp(sum / (double)(to - from)) : NAN;
}
