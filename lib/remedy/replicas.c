/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/replicas.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/remedy/layers.h"
#include "lib/remedy/pipe_schedule.h"
#include "lib/remedy/pipeline.h"

static bool are_positive(const double *values, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!(values[i] > 0) || !isfinite(values[i]))
			return false;
	}
	return true;
}

bool replicas_ok(const struct replicas *r)
{
	if (r->dp < 1 || r->pp < 1 || r->microbatches < 1 || r->dp > REPLICAS_WORKERS_MAX ||
	    r->pp > REPLICAS_WORKERS_MAX / r->dp || r->pp > PIPE_SCHEDULE_STAGES_MAX ||
	    r->microbatches > REPLICAS_MICROBATCHES_MAX || r->chunks > PIPE_SCHEDULE_CHUNKS_MAX ||
	    r->dp * r->pp * r->microbatches * MAX(r->chunks, (size_t)1) > REPLICAS_WORK_MAX ||
	    r->layers > LAYERS_MAX / r->pp)
		return false;
	return are_positive(r->forward_s, r->pp) && are_positive(r->backward_s, r->pp) &&
	       are_positive(r->slowdown, r->dp * r->pp);
}

/* --- one replica --- */

/* A replica whose stage p has layers[p] of the r->layers that it has now; NULL: as they are. */
static struct pipeline replica_of(const struct replicas *r, size_t d, const size_t *layers)
{
	struct pipeline one = { xcalloc(r->pp, sizeof(double)), xcalloc(r->pp, sizeof(double)),
				r->pp, r->microbatches % r->pp == 0 ? r->chunks : 1 };
	size_t p;

	for (p = 0; p < r->pp; p++) {
		const double part = layers ? (double)layers[p] / (double)r->layers : 1;
		const double times = part * r->slowdown[d * r->pp + p];

		one.forward[p] = times * r->forward_s[p];
		one.backward[p] = times * r->backward_s[p];
	}
	return one;
}

/* Seconds of a replica as it is, with as many micro-batches or a few more that it can have. */
static double time_of(const struct replicas *r, size_t d, size_t microbatches)
{
	CLEANUP(pipeline_release) struct pipeline one = replica_of(r, d, NULL);
	const size_t unit = pipeline_unit(&one);

	return pipeline_time(&one, (microbatches + unit - 1) / unit * unit);
}

/* Its layers dealt by how slow its workers are, where that makes it faster. */
static void deal_layers(const struct replicas *r, size_t d, struct pipeline *one)
{
	CLEANUP(freep) size_t *layers = xcalloc(r->pp, sizeof(*layers));
	const struct layers_wish wish = { .slowdown = r->slowdown + d * r->pp,
					  .stages = r->pp,
					  .layers = r->layers * r->pp };
	struct pipeline dealt, was = *one;

	if (layers_assign(&wish, layers, NULL, NULL) < 0)
		return;
	dealt = replica_of(r, d, layers);
	if (pipeline_time(&dealt, r->microbatches) < pipeline_time(&was, r->microbatches)) {
		*one = dealt;
		dealt = was;
	}
	pipeline_release(&dealt);
}

static struct pipeline *replicas_of(const struct replicas *r, bool layers)
{
	struct pipeline *all = xcalloc(r->dp, sizeof(*all));
	size_t d;

	for (d = 0; d < r->dp; d++) {
		all[d] = replica_of(r, d, NULL);
		if (layers && r->layers)
			deal_layers(r, d, &all[d]);
	}
	return all;
}

static void free_replicas(struct pipeline *all, size_t n)
{
	size_t d;

	for (d = 0; d < n; d++)
		pipeline_release(&all[d]);
	free(all);
}

double replicas_times(const struct replicas *r, double *ret_times)
{
	double slowest = 0;
	size_t d;

	for (d = 0; d < r->dp; d++) {
		ret_times[d] = time_of(r, d, r->microbatches);
		slowest = MAX(slowest, ret_times[d]);
	}
	return slowest;
}

double replicas_fixed(const struct replicas *r, double step_s)
{
	CLEANUP(freep) double *times = xcalloc(r->dp, sizeof(*times));

	return step_s - replicas_times(r, times);
}

double replicas_layers(const struct replicas *r)
{
	struct pipeline *all = replicas_of(r, true);
	double slowest = 0;
	size_t d;

	for (d = 0; d < r->dp; d++)
		slowest = MAX(slowest, pipeline_time(&all[d], r->microbatches));
	free_replicas(all, r->dp);
	return slowest;
}

double replicas_even(const struct replicas *r)
{
	CLEANUP(freep) double *forward = xcalloc(r->pp, sizeof(*forward));
	CLEANUP(freep) double *backward = xcalloc(r->pp, sizeof(*backward));
	CLEANUP(freep) double *times = xcalloc(r->dp, sizeof(*times));
	struct replicas even = *r;
	double f = 0, b = 0;
	size_t p;

	for (p = 0; p < r->pp; p++) {
		f += r->forward_s[p] / (double)r->pp;
		b += r->backward_s[p] / (double)r->pp;
	}
	for (p = 0; p < r->pp; p++) {
		forward[p] = f;
		backward[p] = b;
	}
	even.forward_s = forward;
	even.backward_s = backward;
	return replicas_times(&even, times);
}

double replicas_deal(const struct replicas *r, bool layers, size_t *ret_counts)
{
	struct pipeline *all = replicas_of(r, layers);
	const double slowest = pipeline_deal(all, r->dp, r->dp * r->microbatches, ret_counts);

	free_replicas(all, r->dp);
	return slowest;
}

/* --- fewer replicas --- */

double replicas_without(const struct replicas *r, const bool *gone)
{
	size_t left = 0, d, each;
	double slowest = 0;

	for (d = 0; d < r->dp; d++)
		left += !gone[d];
	if (left == 0)
		return (double)NAN;
	each = (r->microbatches * r->dp + left - 1) / left;
	for (d = 0; d < r->dp; d++) {
		if (!gone[d])
			slowest = MAX(slowest, time_of(r, d, each));
	}
	return slowest;
}

double replicas_drop(const struct replicas *r, bool *ret_gone, size_t *ret_n)
{
	CLEANUP(freep) double *times = xcalloc(r->dp, sizeof(*times));
	CLEANUP(freep) bool *gone = xcalloc(r->dp, sizeof(*gone));
	double best = NAN;
	size_t n, d;

	(void)replicas_times(r, times);
	for (n = 1; n < r->dp && n <= REPLICAS_DROP_MAX; n++) {
		size_t slowest = r->dp;
		double time;

		for (d = 0; d < r->dp; d++) {
			if (!gone[d] && (slowest == r->dp || times[d] > times[slowest]))
				slowest = d;
		}
		gone[slowest] = true;
		time = replicas_without(r, gone);
		if (!(time >= best)) {
			best = time;
			*ret_n = n;
			memcpy(ret_gone, gone, r->dp * sizeof(*gone));
		}
	}
	return best;
}
