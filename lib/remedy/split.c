/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/split.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/counts.h"

/* Sums of the same layers differ by rounding. */
#define SAME 1e-12

struct split_time split_time(const double *t, size_t n, size_t microbatches)
{
	struct split_time time = { .total = 0 };
	size_t k;

	for (k = 0; k < n; k++) {
		time.fill += t[k];
		if (t[k] >= t[time.slowest])
			time.slowest = k;
	}
	for (k = time.slowest; k < n; k++)
		time.drain += t[k];
	time.steady = ((double)(microbatches + time.slowest) - (double)(n + 1)) * t[time.slowest];
	time.total = time.fill + time.steady + time.drain;
	time.published =
		time.fill + (double)(2 * n + time.slowest + 1) * t[time.slowest] + time.drain;
	return time;
}

/* A search for the best cut. */
struct search {
	const double *sums; /* prefix sums over the layers */
	size_t n, stages, microbatches;
	double same; /* stages closer than this, in seconds, are equally slow */
};

/* The slowest stage: layers from `first` to before `end`, and the number of stages before it. */
struct slowest {
	size_t before, first, end;
};

static double seconds(const struct search *search, size_t first, size_t end)
{
	return search->sums[end] - search->sums[first];
}

/* How many stages of at most `most` seconds these layers need; more than all if one is longer. */
static size_t stages_needed(const struct search *search, size_t first, size_t end, double most)
{
	size_t needed = 0, next;

	while (first < end) {
		for (next = first; next < end && seconds(search, first, next + 1) <= most; next++)
			;
		if (next == first)
			return search->n + 1;
		first = next;
		needed++;
	}
	return needed;
}

/*
 * Seconds of the best template in which these layers are the slowest stage; INFINITY if there is
 * none. Stages before it may be equally slow, those after it may not. Any number of stages between
 * what is needed and one per layer is possible, and T grows with the stages before.
 */
static double time_with(const struct search *search, size_t first, size_t end, size_t *ret_before)
{
	double slowest = seconds(search, first, end);
	size_t before = stages_needed(search, 0, first, slowest + search->same);
	size_t after = stages_needed(search, end, search->n, slowest - search->same);
	size_t others = search->stages - 1;

	if (others > search->n - end && others - (search->n - end) > before)
		before = others - (search->n - end);
	if (before > first || before > others || after > others - before)
		return INFINITY;
	*ret_before = before;
	return search->sums[search->n] + seconds(search, first, search->n) +
	       ((double)(search->microbatches + before) - (double)(search->stages + 1)) * slowest;
}

/* Cuts layers into exactly `stages` runs of at most `most` seconds, short ones first. */
static void cut(const struct search *search, size_t first, size_t end, double most, size_t stages,
		size_t *ret_counts)
{
	size_t i, next;

	for (i = 0; i < stages; i++) {
		next = first + 1;
		while (stages_needed(search, next, end, most) > stages - i - 1)
			next++;
		ret_counts[i] = next - first;
		first = next;
	}
}

static void build(const struct search *search, const struct slowest *slowest, size_t *ret_counts)
{
	double most = seconds(search, slowest->first, slowest->end);

	cut(search, 0, slowest->first, most + search->same, slowest->before, ret_counts);
	ret_counts[slowest->before] = slowest->end - slowest->first;
	cut(search, slowest->end, search->n, most - search->same,
	    search->stages - slowest->before - 1, ret_counts + slowest->before + 1);
}

static void find(const struct search *search, size_t *ret_counts)
{
	CLEANUP(freep) size_t *counts = xcalloc(search->stages, sizeof(*counts));
	double best = INFINITY, same = search->same * (double)search->microbatches;
	size_t first, end;

	for (first = 0; first < search->n; first++) {
		for (end = first + 1; end <= search->n; end++) {
			struct slowest slowest = { 0, first, end };
			double time = time_with(search, first, end, &slowest.before);

			if (isinf(time) || time > best + same)
				continue;
			build(search, &slowest, counts);
			if (time < best - same ||
			    counts_come_first(counts, ret_counts, search->stages))
				memcpy(ret_counts, counts, search->stages * sizeof(*counts));
			best = MIN(best, time);
		}
	}
}

int split_best(const double *layers, size_t n, size_t stages, size_t microbatches,
	       size_t *ret_counts, struct err *err)
{
	CLEANUP(freep) double *sums = NULL;
	struct search search = { .n = n, .stages = stages, .microbatches = microbatches };
	size_t i;

	if (stages == 0 || n < stages)
		return err_set(err, ERANGE, "%zu layers for %zu stages: each needs at least one", n,
			       stages);
	if (microbatches < stages)
		return err_set(err, ERANGE, "%zu micro-batches are %zu fewer than %zu stages",
			       microbatches, stages - microbatches, stages);
	sums = xcalloc(n + 1, sizeof(*sums));
	for (i = 0; i < n; i++)
		sums[i + 1] = sums[i] + layers[i];
	search.sums = sums;
	search.same = SAME * sums[n];
	find(&search, ret_counts);
	return 0;
}
