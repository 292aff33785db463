/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/hotspa_places.h"

#include <string.h>

#include "attribution/trace_job.h"
#include "lib/base/xalloc.h"

/* GPUs are numbered in rank order: the number of workers before this one. */
static size_t place_of(const struct trace_job *job, size_t worker)
{
	size_t before = 0, w;

	for (w = 0; w < (size_t)job->dp * job->pp; w++)
		before += job->workers[w].rank < job->workers[worker].rank;
	return before;
}

/* Find the host of each GPU, and the first GPU of each present tensor-parallel group. */
static void find_places(const struct trace_job *job, const double *slowdown,
			struct hotspa_places *places)
{
	const size_t beside = (size_t)job->tp * job->dsp;
	size_t d, p, i;

	for (d = 0; d < job->dp; d++) {
		for (p = 0; p < job->pp; p++) {
			const size_t worker = d * job->pp + p;
			const size_t begin = place_of(job, worker) * beside;

			for (i = 0; i < beside; i++) {
				places->hosts[begin + i] = (size_t)job->workers[worker].node;
				places->slow[begin + i] = slowdown[worker];
			}
			for (i = 0; i < job->dsp; i++)
				places->first[(p * job->dp + d) * job->dsp + i] =
					begin + i * job->tp;
		}
	}
}

/* Stages of equal size, as far as possible. */
static size_t *split_evenly(size_t layers, size_t pp)
{
	size_t *split = xcalloc(pp, sizeof(*split)), p;

	for (p = 0; p < pp; p++)
		split[p] = (p + 1) * layers / pp - p * layers / pp;
	return split;
}

/*
 * Plans that differ only in other respects, such as recomputation, leave everything in its place.
 */
static bool same_shape(const struct description_plan *a, const struct description_plan *b)
{
	return a->tp == b->tp && a->pp == b->pp && a->dp == b->dp && a->cp == b->cp;
}

struct hotspa_places hotspa_places_of(const struct trace_job *job, const struct description *d,
				      const double *slowdown)
{
	struct hotspa_places places = { .hosts = xcalloc(job->world, sizeof(size_t)),
					.first = xcalloc(job->world, sizeof(size_t)),
					.slow = xcalloc(job->world, sizeof(double)) };
	size_t i;

	find_places(job, slowdown, &places);
	for (i = 0; i < d->hotspa.n_plans; i++) {
		const struct description_plan *plan = &d->hotspa.plans[i];
		const bool as_now = same_shape(plan, &d->hotspa.plans[0]);

		places.splits[i] = split_evenly(d->layers.n, plan->pp);
		if (as_now)
			memcpy(places.splits[i], d->stages.layers,
			       plan->pp * sizeof(*places.splits[i]));
		places.layouts[i] = (struct hotspa_cost_layout){ plan->tp, plan->pp,
								 plan->dp * plan->cp,
								 places.splits[i],
								 as_now ? places.first : NULL };
	}
	return places;
}

void hotspa_places_release(struct hotspa_places *places)
{
	size_t i;

	for (i = 0; i < HOTSPA_PLAN_PLANS_MAX; i++)
		free(places->splits[i]);
	free(places->hosts);
	free(places->first);
	free(places->slow);
}

double *hotspa_places_slow(const struct hotspa_places *places, const struct description_plan *plan,
			   size_t i)
{
	const struct hotspa_cost_layout *layout = &places->layouts[i];
	double *slow = xcalloc(plan->dp * plan->pp, sizeof(*slow));
	size_t c, p, t;

	for (c = 0; c < layout->copies; c++) {
		for (p = 0; p < plan->pp; p++) {
			const size_t group = p * layout->copies + c;
			const size_t first = layout->first ? layout->first[group]
							   : group * layout->tp;
			double *own = &slow[c / plan->cp * plan->pp + p];

			for (t = 0; t < layout->tp; t++)
				*own = MAX(*own, places->slow[first + t]);
		}
	}
	return slow;
}
