/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/layers_cut.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Sums of the same layers differ by rounding. */
#define SAME 1e-12

struct search {
	const struct layers_cut_wish *wish;
	double *seconds, *bytes; /* prefix sums over the layers */
	double most;		 /* limit in seconds for a stage */
	bool sum;		 /* minimise the sum instead of the slowest */
	double *best;		 /* [stage * (layers + 1) + end]: for the stages up to this one */
	size_t *from;		 /* where its layers begin */
};

static double slowdown(const struct layers_cut_wish *wish, size_t p)
{
	return wish->slowdown ? wish->slowdown[p] : 1;
}

static double room(const struct layers_cut_wish *wish, size_t p)
{
	return wish->room - (p == 0 ? wish->ends : 0) - (p + 1 == wish->stages ? wish->ends : 0);
}

static bool fits(const struct search *search, size_t p, size_t first, size_t end)
{
	const double bytes = search->bytes[end] - search->bytes[first];

	return !search->wish->bytes || bytes <= room(search->wish, p) * (1 + SAME);
}

/* The best start of a stage that ends before layer `end`. */
static void find_one(struct search *search, size_t p, size_t end)
{
	size_t width = search->wish->layers + 1, first;
	double *best = &search->best[p * width + end];

	*best = INFINITY;
	for (first = end; first-- > p;) {
		double own =
			slowdown(search->wish, p) * (search->seconds[end] - search->seconds[first]);
		double before = p > 0 ? search->best[(p - 1) * width + first] : 0, value;

		if (own > search->most || !fits(search, p, first, end))
			break;
		if (p == 0 && first > 0)
			continue;
		value = search->sum ? before + own : MAX(before, own);
		if (value <= *best && !isinf(value)) {
			*best = value;
			search->from[p * width + end] = first;
		}
	}
}

static double find(struct search *search)
{
	size_t layers = search->wish->layers, stages = search->wish->stages, p, end;

	for (p = 0; p < stages; p++) {
		for (end = 0; end <= p; end++)
			search->best[p * (layers + 1) + end] = INFINITY;
		for (end = p + 1; end <= layers; end++)
			find_one(search, p, end);
	}
	return search->best[stages * (layers + 1) - 1];
}

static int check(const struct layers_cut_wish *wish, struct err *err)
{
	double need = 0, have = 0;
	size_t i;

	if (wish->stages == 0 || wish->stages > LAYERS_CUT_STAGES_MAX)
		return err_set(err, EINVAL, "%zu stages: expected 1 to %d", wish->stages,
			       LAYERS_CUT_STAGES_MAX);
	if (wish->layers > LAYERS_CUT_LAYERS_MAX ||
	    wish->stages * wish->layers * wish->layers > LAYERS_CUT_WORK_MAX)
		return err_set(err, EINVAL,
			       "%zu layers for %zu stages: expected at most %d, and at most %d as "
			       "stages * "
			       "layers^2",
			       wish->layers, wish->stages, LAYERS_CUT_LAYERS_MAX,
			       LAYERS_CUT_WORK_MAX);
	if (wish->layers < wish->stages)
		return err_set(err, ERANGE, "%zu layers are %zu fewer than %zu stages",
			       wish->layers, wish->stages - wish->layers, wish->stages);
	for (i = 0; i < wish->layers && wish->bytes; i++)
		need += wish->bytes[i];
	for (i = 0; i < wish->stages && wish->bytes; i++)
		have += MAX(room(wish, i), 0);
	if (need > have * (1 + SAME))
		return err_set(err, ERANGE,
			       "%zu layers need %.6g bytes, %.6g more than the %.6g of %zu stages",
			       wish->layers, need, need - have, have, wish->stages);
	return 0;
}

static int cut(struct search *search, size_t *ret_counts, struct err *err)
{
	const struct layers_cut_wish *wish = search->wish;
	double slowest = find(search);
	size_t p, end = wish->layers;

	if (isinf(slowest))
		return err_set(err, ERANGE,
			       "no cut of %zu layers into %zu stages fits in %.6g bytes a stage",
			       wish->layers, wish->stages, wish->room);
	search->most = slowest * (1 + SAME);
	search->sum = true;
	(void)find(search);
	for (p = wish->stages; p-- > 0;) {
		size_t first = search->from[p * (wish->layers + 1) + end];

		ret_counts[p] = end - first;
		end = first;
	}
	return 0;
}

int layers_cut(const struct layers_cut_wish *wish, size_t *ret_counts, struct err *err)
{
	CLEANUP(freep) double *seconds = NULL;
	CLEANUP(freep) double *bytes = NULL;
	CLEANUP(freep) double *best = NULL;
	CLEANUP(freep) size_t *from = NULL;
	struct search search = { .wish = wish, .most = INFINITY };
	size_t i;
	int r = check(wish, err);

	if (r < 0)
		return r;
	seconds = xcalloc(wish->layers + 1, sizeof(*seconds));
	bytes = xcalloc(wish->layers + 1, sizeof(*bytes));
	best = xcalloc(wish->stages * (wish->layers + 1), sizeof(*best));
	from = xcalloc(wish->stages * (wish->layers + 1), sizeof(*from));
	for (i = 0; i < wish->layers; i++) {
		seconds[i + 1] = seconds[i] + wish->seconds[i];
		bytes[i + 1] = bytes[i] + (wish->bytes ? wish->bytes[i] : 0);
	}
	search.seconds = seconds;
	search.bytes = bytes;
	search.best = best;
	search.from = from;
	return cut(&search, ret_counts, err);
}

double layers_cut_slowest(const struct layers_cut_wish *wish, const size_t *counts)
{
	double slowest = 0;
	size_t p, i, at = 0;

	for (p = 0; p < wish->stages; p++) {
		double seconds = 0;

		for (i = 0; i < counts[p]; i++)
			seconds += wish->seconds[at++];
		slowest = MAX(slowest, seconds * slowdown(wish, p));
	}
	return slowest;
}

bool layers_cut_fits(const struct layers_cut_wish *wish, const size_t *counts)
{
	size_t p, i, at = 0;

	for (p = 0; p < wish->stages && wish->bytes; p++) {
		double bytes = 0;

		for (i = 0; i < counts[p]; i++)
			bytes += wish->bytes[at++];
		if (bytes > room(wish, p) * (1 + SAME))
			return false;
	}
	return true;
}
