/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/replicas.h"

#include <math.h>
#include <stdint.h>
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

/* Interleaving needs micro-batches that are a multiple of the stages. */
static size_t chunks_of(const struct replicas *r)
{
	return r->microbatches % r->pp == 0 ? r->chunks : 1;
}

/* With this many micro-batches, rounded up to what is possible. */
static double time_with(const struct pipeline *one, size_t microbatches)
{
	const size_t unit = pipeline_unit(one);

	return pipeline_time(one, (microbatches + unit - 1) / unit * unit);
}

/* A replica whose stage p has layers[p] of the r->layers that it has now; NULL: unchanged. */
static struct pipeline replica_of(const struct replicas *r, size_t d, const size_t *layers)
{
	struct pipeline one = { xcalloc(r->pp, sizeof(double)), xcalloc(r->pp, sizeof(double)),
				r->pp, chunks_of(r) };
	size_t p;

	for (p = 0; p < r->pp; p++) {
		const double part = layers ? (double)layers[p] / (double)r->layers : 1;
		const double times = part * r->slowdown[d * r->pp + p];

		one.forward[p] = times * r->forward_s[p];
		one.backward[p] = times * r->backward_s[p];
	}
	return one;
}

/* Seconds of a replica in its current state. */
static double time_of(const struct replicas *r, size_t d, size_t microbatches)
{
	CLEANUP(pipeline_release) struct pipeline one = replica_of(r, d, NULL);

	return time_with(&one, microbatches);
}

/* Distributes its layers by the speed of its workers, if that makes it faster. */
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

/* --- the slowest --- */

/* Relative error of the bound from rounding. */
#define ROUNDING 1e-9

/* Upper bound for a replica, relative to one without a slow worker. */
struct bound {
	size_t d;
	double most;
};

static int by_most(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return (x->d > y->d) - (x->d < y->d);
}

/* Bounds of all replicas, largest first. New memory. */
static struct bound *bounds_of(const struct replicas *r)
{
	struct bound *all = xcalloc(r->dp, sizeof(*all));
	size_t d, p;

	for (d = 0; d < r->dp; d++) {
		all[d].d = d;
		for (p = 0; p < r->pp; p++)
			all[d].most = MAX(all[d].most, r->slowdown[d * r->pp + p]);
	}
	qsort(all, r->dp, sizeof(*all), by_most);
	return all;
}

/* Seconds of a replica without a slow worker. */
static double good_time(const struct replicas *r, size_t microbatches)
{
	const struct pipeline good = { (double *)(uintptr_t)r->forward_s,
				       (double *)(uintptr_t)r->backward_s, r->pp, chunks_of(r) };

	return time_with(&good, microbatches);
}

static bool may_reach(const struct bound *bound, double good_s, double seconds)
{
	return bound->most * good_s * (1 + ROUNDING) >= seconds;
}

/* `gone`: those that stop; may be NULL. */
static double slowest_of(const struct replicas *r, const struct bound *bounds, const bool *gone,
			 size_t microbatches)
{
	const double good_s = good_time(r, microbatches);
	double slowest = 0;
	size_t i;

	if (isnan(good_s))
		return good_s;
	for (i = 0; i < r->dp && may_reach(&bounds[i], good_s, slowest); i++) {
		if (!gone || !gone[bounds[i].d])
			slowest = MAX(slowest, time_of(r, bounds[i].d, microbatches));
	}
	return slowest;
}

double replicas_slowest(const struct replicas *r)
{
	CLEANUP(freep) struct bound *bounds = bounds_of(r);

	return slowest_of(r, bounds, NULL, r->microbatches);
}

double replicas_fixed(const struct replicas *r, double step_s)
{
	return step_s - replicas_slowest(r);
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
	return replicas_slowest(&even);
}

double replicas_deal(const struct replicas *r, bool layers, size_t *ret_counts)
{
	struct pipeline *all = replicas_of(r, layers);
	const double slowest = pipeline_deal(all, r->dp, r->dp * r->microbatches, ret_counts);

	free_replicas(all, r->dp);
	return slowest;
}

/* --- fewer replicas --- */

/* The others share its micro-batches. */
static double time_without(const struct replicas *r, const struct bound *bounds, const bool *gone)
{
	size_t left = 0, d;

	for (d = 0; d < r->dp; d++)
		left += !gone[d];
	if (left == 0)
		return (double)NAN;
	return slowest_of(r, bounds, gone, (r->microbatches * r->dp + left - 1) / left);
}

double replicas_without(const struct replicas *r, const bool *gone)
{
	CLEANUP(freep) struct bound *bounds = bounds_of(r);

	return time_without(r, bounds, gone);
}

/* A replica's time and its rank among the slowest; ties are sorted by index. */
struct slow {
	size_t d;
	double time;
};

static void insert_slow(struct slow *slow, size_t *n, size_t most, const struct slow *one)
{
	size_t i = *n;

	while (i > 0 && (one->time > slow[i - 1].time ||
			 (one->time == slow[i - 1].time && one->d < slow[i - 1].d)))
		i--;
	if (i == most)
		return;
	*n = MIN(*n + 1, most);
	memmove(slow + i + 1, slow + i, (*n - i - 1) * sizeof(*slow));
	slow[i] = *one;
}

/* The `most` slowest. Returns how many. */
static size_t find_slow(const struct replicas *r, const struct bound *bounds, size_t most,
			struct slow *ret)
{
	const double good_s = good_time(r, r->microbatches);
	size_t n = 0, i;

	for (i = 0; i < r->dp; i++) {
		const size_t d = bounds[i].d;

		if (n == most && (most == 0 || !may_reach(&bounds[i], good_s, ret[n - 1].time)))
			break;
		insert_slow(ret, &n, most, &(struct slow){ d, time_of(r, d, r->microbatches) });
	}
	return n;
}

double replicas_drop(const struct replicas *r, bool *ret_gone, size_t *ret_n)
{
	CLEANUP(freep) struct bound *bounds = bounds_of(r);
	CLEANUP(freep) bool *gone = xcalloc(r->dp, sizeof(*gone));
	struct slow slow[REPLICAS_DROP_MAX];
	const size_t most = find_slow(r, bounds, MIN(r->dp - 1, (size_t)REPLICAS_DROP_MAX), slow);
	double best = NAN;
	size_t n;

	for (n = 1; n <= most; n++) {
		double time;

		gone[slow[n - 1].d] = true;
		time = time_without(r, bounds, gone);
		if (!(time >= best)) {
			best = time;
			*ret_n = n;
			memcpy(ret_gone, gone, r->dp * sizeof(*gone));
		}
	}
	return best;
}
