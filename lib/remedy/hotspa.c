/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/hotspa.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Sums of the same costs differ by rounding. */
#define SAME 1e-12

static int compare_descending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

static int check(const struct hotspa_wish *wish, struct err *err)
{
	size_t i;

	if (wish->n > HOTSPA_SEQUENCES_MAX)
		return err_set(err, EINVAL, "%zu sequences: expected at most %d", wish->n,
			       HOTSPA_SEQUENCES_MAX);
	if (wish->n_bounds < 2 || wish->n_bounds > HOTSPA_GROUPS_MAX + 1)
		return err_set(err, EINVAL, "bounds: %zu values: expected 2 to %d", wish->n_bounds,
			       HOTSPA_GROUPS_MAX + 1);
	for (i = 1; i < wish->n_bounds; i++)
		if (wish->bounds[i] >= wish->bounds[i - 1])
			return err_set(err, EINVAL,
				       "bounds[%zu]: %ju is not smaller than the one before", i,
				       (uintmax_t)wish->bounds[i]);
	return 0;
}

/* Packs the sorted sequences of one group into `places`. */
static void pack(const uint64_t *lengths, size_t n, uint64_t bound, size_t group,
		 struct hotspa_place *places)
{
	CLEANUP(freep) bool *used = xcalloc(n + 1, sizeof(*used));
	size_t first, i, number = 0, taken = 0;

	for (first = 0; first < n; first++) {
		uint64_t left = bound;

		if (used[first])
			continue;
		for (i = first; i < n && left > 0; i++) {
			if (used[i] || lengths[i] > left)
				continue;
			used[i] = true;
			left -= lengths[i];
			places[taken++] = (struct hotspa_place){ lengths[i], group, number };
		}
		number++;
	}
}

int hotspa_group(const struct hotspa_wish *wish, struct hotspa_place *ret_places, struct err *err)
{
	CLEANUP(freep) uint64_t *sorted = NULL;
	size_t i, g, end;
	int r = check(wish, err);

	if (r < 0)
		return r;
	sorted = xcalloc(wish->n + 1, sizeof(*sorted));
	for (i = 0; i < wish->n; i++)
		sorted[i] = wish->lengths[i];
	qsort(sorted, wish->n, sizeof(*sorted), compare_descending);
	if (wish->n > 0 && sorted[0] > wish->bounds[0])
		return err_set(err, ERANGE, "a sequence of %ju is %ju longer than the first bound",
			       (uintmax_t)sorted[0], (uintmax_t)(sorted[0] - wish->bounds[0]));
	if (wish->n > 0 && sorted[wish->n - 1] <= wish->bounds[wish->n_bounds - 1])
		return err_set(err, ERANGE, "a sequence of %ju is not above the last bound, %ju",
			       (uintmax_t)sorted[wish->n - 1],
			       (uintmax_t)wish->bounds[wish->n_bounds - 1]);
	for (i = 0, g = 0; g + 1 < wish->n_bounds; g++, i = end) {
		for (end = i; end < wish->n && sorted[end] > wish->bounds[g + 1]; end++)
			;
		pack(sorted + i, end - i, wish->bounds[g], g, ret_places + i);
	}
	return 0;
}

/* Seconds from plan `at` through those in `left` (bits) to `first`: rest[left * n + at]. */
static double *find_rest(const double *cost, size_t n, size_t first)
{
	size_t sets = (size_t)1 << n, left, at, next;
	double *rest = xcalloc(sets * n, sizeof(*rest));

	for (left = 0; left < sets; left++) {
		for (at = 0; at < n; at++) {
			double best = left == 0 ? cost[at * n + first] : INFINITY;

			for (next = 0; next < n; next++) {
				size_t then = left & ~((size_t)1 << next);

				if (then != left)
					best = MIN(best,
						   cost[at * n + next] + rest[then * n + next]);
			}
			rest[left * n + at] = best;
		}
	}
	return rest;
}

int hotspa_order(const double *cost, size_t n, size_t first, size_t *ret_order, double *ret_total,
		 struct err *err)
{
	CLEANUP(freep) double *rest = NULL;
	size_t left, at = first, next, i;

	if (n == 0 || n > HOTSPA_PLANS_MAX)
		return err_set(err, EINVAL, "%zu plans: expected 1 to %d", n, HOTSPA_PLANS_MAX);
	if (first >= n)
		return err_set(err, EINVAL, "first %zu: there are %zu plans, numbered from 0",
			       first, n);
	rest = find_rest(cost, n, first);
	left = (((size_t)1 << n) - 1) & ~((size_t)1 << first);
	*ret_total = rest[left * n + first];
	ret_order[0] = first;
	for (i = 1; i < n; i++) {
		double best = rest[left * n + at];

		for (next = 0; next < n; next++) {
			size_t then = left & ~((size_t)1 << next);

			if (then != left &&
			    cost[at * n + next] + rest[then * n + next] <= best * (1 + SAME))
				break;
		}
		left &= ~((size_t)1 << next);
		at = ret_order[i] = next;
	}
	ret_order[n] = first;
	return 0;
}
