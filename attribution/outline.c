/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/outline.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

/* Mean over steps of each worker's computes of a type, added to [d * pp + stage]. */
static void add_computes(const struct trace *trace, enum optype type, double *ret)
{
	const size_t dp = trace->job.dp, pp = trace->job.pp;
	size_t key, lane;

	for (key = 0; key < trace->n_keys; key++) {
		const double *row = trace_row(trace, trace->duration, key);

		if (trace->keys[key].type != type || trace->keys[key].mb < 0)
			continue;
		for (lane = 0; lane < trace->n_lanes; lane++)
			ret[lane % dp * pp + trace->keys[key].stage] +=
				row[lane] / (double)trace->n_steps;
	}
}

static size_t count_microbatches(const struct trace *trace)
{
	size_t key, n = 0;

	for (key = 0; key < trace->n_keys; key++) {
		if (optype_is_compute(trace->keys[key].type) && trace->keys[key].mb >= 0)
			n = MAX(n, (size_t)trace->keys[key].mb + 1);
	}
	return n;
}

static int ascending(const void *a, const void *b)
{
	const double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Lower median over the DP ranks of each stage. */
static void find_good(const struct trace *trace, const double *times, double *ret)
{
	const size_t dp = trace->job.dp, pp = trace->job.pp;
	CLEANUP(freep) double *column = xcalloc(dp, sizeof(*column));
	size_t stage, d;

	for (stage = 0; stage < pp; stage++) {
		for (d = 0; d < dp; d++)
			column[d] = times[d * pp + stage];
		qsort(column, dp, sizeof(*column), ascending);
		ret[stage] = column[(dp - 1) / 2];
	}
}

/* Mean excess of the candidates over the others of their key. */
static double find_pause(const struct trace *trace, const struct balance *balance)
{
	double excess = 0;
	size_t key, lane, paused = 0;

	for (key = 0; balance->original && key < trace->n_keys; key++) {
		const double *row = trace_row(trace, trace->duration, key);
		const bool *original = balance->original + key * trace->n_lanes;
		double usual = 0, n = 0;

		if (!balance->has_pause[key])
			continue;
		for (lane = 0; lane < trace->n_lanes; lane++) {
			usual += original[lane] ? row[lane] : 0;
			n += original[lane];
		}
		for (lane = 0; n > 0 && lane < trace->n_lanes; lane++) {
			excess += original[lane] ? 0 : MAX(row[lane] - usual / n, 0);
			paused += !original[lane];
		}
	}
	return paused ? excess / (double)paused : (double)NAN;
}

struct outline outline_find(const struct trace *trace, const struct balance *balance)
{
	const size_t pp = trace->job.pp, n = trace->job.dp * pp;
	CLEANUP(freep) double *forward = xcalloc(n, sizeof(*forward));
	CLEANUP(freep) double *backward = xcalloc(n, sizeof(*backward));
	struct outline outline = {
		.microbatches = count_microbatches(trace),
		.forward_s = xcalloc(pp, sizeof(double)),
		.backward_s = xcalloc(pp, sizeof(double)),
		.slowdown = xcalloc(n, sizeof(double)),
		.pause_s = find_pause(trace, balance),
	};
	size_t i;

	add_computes(trace, OP_FORWARD_COMPUTE, forward);
	add_computes(trace, OP_BACKWARD_COMPUTE, backward);
	find_good(trace, forward, outline.forward_s);
	find_good(trace, backward, outline.backward_s);
	for (i = 0; i < n; i++)
		outline.slowdown[i] = (forward[i] + backward[i]) /
				      (outline.forward_s[i % pp] + outline.backward_s[i % pp]);
	for (i = 0; outline.microbatches && i < pp; i++) {
		outline.forward_s[i] /= (double)outline.microbatches;
		outline.backward_s[i] /= (double)outline.microbatches;
	}
	return outline;
}

void outline_release(struct outline *outline)
{
	free(outline->forward_s);
	free(outline->backward_s);
	free(outline->slowdown);
	*outline = (struct outline){ 0 };
}
