/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/distribute.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/counts.h"

/* Variances closer than this part of the squared mean are equal. */
#define SAME 1e-12

static size_t least_of(const struct distribute_wish *wish, size_t i)
{
	return wish->least ? wish->least[i] : 1;
}

static int check(const struct distribute_wish *wish, struct err *err)
{
	size_t need = 0, i;

	if (wish->n == 0 || wish->n > DISTRIBUTE_PIPELINES_MAX)
		return err_set(err, EINVAL, "%zu pipelines: expected 1 to %d", wish->n,
			       DISTRIBUTE_PIPELINES_MAX);
	if (wish->total > DISTRIBUTE_TOTAL_MAX || wish->total * wish->n > DISTRIBUTE_WORK_MAX)
		return err_set(err, EINVAL,
			       "%zu micro-batches for %zu pipelines: expected at most %d, and a "
			       "product of at most %d",
			       wish->total, wish->n, DISTRIBUTE_TOTAL_MAX, DISTRIBUTE_WORK_MAX);
	for (i = 0; i < wish->n; i++)
		need += least_of(wish, i);
	if (wish->total < need)
		return err_set(err, ERANGE,
			       "%zu micro-batches are %zu fewer than the %zu that %zu pipelines "
			       "need",
			       wish->total, need - wish->total, need, wish->n);
	return 0;
}

int distribute_minmax(const struct distribute_wish *wish, size_t *ret_counts, struct err *err)
{
	size_t left = wish->total, i, to;
	int r = check(wish, err);

	if (r < 0)
		return r;
	for (i = 0; i < wish->n; i++) {
		ret_counts[i] = least_of(wish, i);
		left -= ret_counts[i];
	}
	for (; left > 0; left--) {
		for (to = 0, i = 1; i < wish->n; i++)
			if ((double)(ret_counts[i] + 1) * wish->t[i] <
			    (double)(ret_counts[to] + 1) * wish->t[to])
				to = i;
		ret_counts[to]++;
	}
	return 0;
}

double distribute_slowest(const struct distribute_wish *wish, const size_t *counts)
{
	double slowest = 0;
	size_t i;

	for (i = 0; i < wish->n; i++)
		slowest = MAX(slowest, (double)counts[i] * wish->t[i]);
	return slowest;
}

static double variance(const struct distribute_wish *wish, const size_t *counts)
{
	double mean = 0, sum = 0;
	size_t i;

	for (i = 0; i < wish->n; i++)
		mean += (double)counts[i] * wish->t[i] / (double)wish->n;
	for (i = 0; i < wish->n; i++)
		sum += ((double)counts[i] * wish->t[i] - mean) *
		       ((double)counts[i] * wish->t[i] - mean);
	return sum;
}

/* The optimum for c = 0: gives each to the least (2 * count + 1) * t^2. */
static void deal_for_zero(const struct distribute_wish *wish, size_t *counts)
{
	size_t left = wish->total - wish->n, i, to;

	for (i = 0; i < wish->n; i++)
		counts[i] = 1;
	for (; left > 0; left--) {
		for (to = 0, i = 1; i < wish->n; i++)
			if ((double)(2 * counts[i] + 1) * wish->t[i] * wish->t[i] <
			    (double)(2 * counts[to] + 1) * wish->t[to] * wish->t[to])
				to = i;
		counts[to]++;
	}
}

/* Pipelines of equal speed can permute their counts: the least first. */
static void order_equals(const struct distribute_wish *wish, size_t *counts)
{
	size_t i, j;

	for (i = 0; i < wish->n; i++) {
		for (j = i + 1; j < wish->n; j++) {
			if (wish->t[i] == wish->t[j] && counts[j] < counts[i]) {
				size_t kept = counts[i];

				counts[i] = counts[j];
				counts[j] = kept;
			}
		}
	}
}

/* The value of c from which a micro-batch of `from` is better off on the slower `to`. */
static double moves_at(const struct distribute_wish *wish, const size_t *counts, size_t from,
		       size_t to)
{
	double a = wish->t[from], b = wish->t[to];

	if (counts[from] <= 1 || b <= a)
		return INFINITY;
	return (b * b * (double)(2 * counts[to] + 1) - a * a * (double)(2 * counts[from] - 1)) /
	       (2 * (b - a));
}

/* One step of the walk; false if nothing moves any more. */
static bool move(const struct distribute_wish *wish, size_t *counts)
{
	double first = INFINITY;
	size_t from, to, best_from = 0, best_to = 0;

	for (from = 0; from < wish->n; from++) {
		for (to = 0; to < wish->n; to++) {
			double at = moves_at(wish, counts, from, to);

			if (at < first) {
				first = at;
				best_from = from;
				best_to = to;
			}
		}
	}
	/* The mean is never beyond the slowest pipeline. */
	if (isinf(first) || first > distribute_slowest(wish, counts))
		return false;
	counts[best_from]--;
	counts[best_to]++;
	return true;
}

int distribute_variance(const struct distribute_wish *wish, size_t *ret_counts, struct err *err)
{
	const struct distribute_wish plain = { wish->t, NULL, wish->n, wish->total };
	CLEANUP(freep) size_t *walk = NULL;
	CLEANUP(freep) size_t *ordered = NULL;
	double best = INFINITY, same;
	int r = check(&plain, err);

	if (r == 0 && wish->n > DISTRIBUTE_VARIANCE_MAX)
		r = err_set(err, EINVAL, "%zu pipelines: expected at most %d", wish->n,
			    DISTRIBUTE_VARIANCE_MAX);
	if (r < 0)
		return r;
	walk = xcalloc(wish->n, sizeof(*walk));
	ordered = xcalloc(wish->n, sizeof(*ordered));
	deal_for_zero(wish, walk);
	same = SAME * pow(distribute_slowest(wish, walk), 2);
	do {
		double value = variance(wish, walk);

		if (value > best + same)
			continue;
		memcpy(ordered, walk, wish->n * sizeof(*walk));
		order_equals(wish, ordered);
		if (value < best - same || counts_come_first(ordered, ret_counts, wish->n))
			memcpy(ret_counts, ordered, wish->n * sizeof(*ordered));
		best = MIN(best, value);
	} while (move(wish, walk));
	return 0;
}
