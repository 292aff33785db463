/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/rearrange.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/layers_cut.h"
#include "lib/remedy/pipe_schedule.h"
#include "lib/remedy/pipeline.h"

/* Times closer than this, relatively, are equal. */
#define SAME 1e-9

const char *const rearrange_names[REARRANGE_WAYS] = {
	[REARRANGE_MICROBATCHES] = "microbatches",
	[REARRANGE_LAYERS] = "layers",
	[REARRANGE_BOTH] = "both",
	[REARRANGE_TOGETHER] = "together",
};

static int check(const struct rearrange_job *job, struct err *err)
{
	size_t sum = 0, p;

	if (job->dp == 0 || job->pp == 0 || job->dp > REARRANGE_WORKERS_MAX / job->pp)
		return err_set(err, EINVAL, "%zu pipelines of %zu stages: expected 1 to %d hosts",
			       job->dp, job->pp, REARRANGE_WORKERS_MAX);
	if (job->microbatches == 0 || job->microbatches > REARRANGE_WORK_MAX ||
	    job->dp * job->pp * job->microbatches > REARRANGE_WORK_MAX / job->microbatches)
		return err_set(err, EINVAL,
			       "%zu pipelines of %zu stages and %zu micro-batches: expected at "
			       "most %d as pipelines * stages * micro-batches^2",
			       job->dp, job->pp, job->microbatches, REARRANGE_WORK_MAX);
	if (job->chunks > PIPE_SCHEDULE_CHUNKS_MAX)
		return err_set(err, EINVAL, "%zu chunks of a stage: expected %d at most",
			       job->chunks, PIPE_SCHEDULE_CHUNKS_MAX);
	if (job->chunks > 1 && job->microbatches % job->pp > 0)
		return err_set(
			err, EINVAL,
			"%zu micro-batches are not a multiple of the %zu stages, which have %zu "
			"chunks each",
			job->microbatches, job->pp, job->chunks);
	if (job->layers < job->pp || job->layers > REARRANGE_LAYERS_MAX)
		return err_set(err, EINVAL, "%zu layers for %zu stages: expected %zu to %d",
			       job->layers, job->pp, job->pp, REARRANGE_LAYERS_MAX);
	for (p = 0; p < job->pp; p++) {
		if (job->split[p] == 0)
			return err_set(err, EINVAL, "stage %zu has no layer", p);
		sum += job->split[p];
	}
	if (sum != job->layers)
		return err_set(err, EINVAL, "the stages have %zu layers, but the model has %zu",
			       sum, job->layers);
	return 0;
}

/* A pipeline according to the plan. */
static struct pipeline pipeline_in(const struct rearrange_job *job, const size_t *split,
				   const size_t *hosts)
{
	const struct pipeline_model model = { job->forward, job->backward, job->layers };
	struct pipeline pipeline = pipeline_of(&model, split, job->slowdown, hosts, job->pp);

	pipeline.chunks = job->chunks;
	return pipeline;
}

/* Duration of all pipelines under the plan. */
static double time_of_plan(const struct rearrange_job *job, const struct rearrange_plan *plan)
{
	double slowest = 0;
	size_t d;

	for (d = 0; d < job->dp; d++) {
		CLEANUP(pipeline_release)
		struct pipeline pipeline =
			pipeline_in(job, plan->split + d * job->pp, plan->hosts + d * job->pp);

		slowest = MAX(slowest, pipeline_time(&pipeline, plan->microbatches[d]));
	}
	return slowest;
}

/* The current state as a plan. */
static struct rearrange_plan plan_of_now(const struct rearrange_job *job)
{
	struct rearrange_plan plan = {
		.microbatches = xcalloc(job->dp, sizeof(size_t)),
		.split = xcalloc(job->dp * job->pp, sizeof(size_t)),
		.hosts = xcalloc(job->dp * job->pp, sizeof(size_t)),
	};
	size_t d, p;

	for (d = 0; d < job->dp; d++) {
		plan.microbatches[d] = job->microbatches;
		for (p = 0; p < job->pp; p++) {
			plan.split[d * job->pp + p] = job->split[p];
			plan.hosts[d * job->pp + p] = d * job->pp + p;
		}
	}
	plan.time = time_of_plan(job, &plan);
	return plan;
}

static void deal(const struct rearrange_job *job, struct rearrange_plan *plan)
{
	struct pipeline *all = xcalloc(job->dp, sizeof(*all));
	size_t d;

	for (d = 0; d < job->dp; d++)
		all[d] = pipeline_in(job, plan->split + d * job->pp, plan->hosts + d * job->pp);
	(void)pipeline_deal(all, job->dp, job->dp * job->microbatches, plan->microbatches);
	for (d = 0; d < job->dp; d++)
		pipeline_release(&all[d]);
	free(all);
}

/* Cuts the layers of each pipeline by the speed of its hosts, if that makes it faster. */
static int cut(const struct rearrange_job *job, struct rearrange_plan *plan, struct err *err)
{
	CLEANUP(freep) double *seconds = xcalloc(job->layers, sizeof(*seconds));
	CLEANUP(freep) double *slowdown = xcalloc(job->pp, sizeof(*slowdown));
	CLEANUP(freep) size_t *counts = xcalloc(job->pp, sizeof(*counts));
	const struct layers_cut_wish wish = { seconds, job->bytes, slowdown, job->layers,
					      job->pp, job->room,  job->ends };
	size_t d, p, i;
	int r = 0;

	for (i = 0; i < job->layers; i++)
		seconds[i] = job->forward[i] + job->backward[i];
	for (d = 0; d < job->dp && r == 0; d++) {
		size_t *split = plan->split + d * job->pp, *hosts = plan->hosts + d * job->pp;

		for (p = 0; p < job->pp; p++)
			slowdown[p] = job->slowdown[hosts[p]];
		r = layers_cut(&wish, counts, err);
		if (r == 0) {
			CLEANUP(pipeline_release)
			struct pipeline now = pipeline_in(job, split, hosts);
			CLEANUP(pipeline_release)
			struct pipeline then = pipeline_in(job, counts, hosts);

			if (pipeline_time(&then, job->microbatches) <
			    pipeline_time(&now, job->microbatches))
				memcpy(split, counts, job->pp * sizeof(*split));
		}
	}
	return r;
}

struct ranked {
	double slowdown;
	size_t host;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->slowdown > y->slowdown || x->slowdown < y->slowdown)
		return x->slowdown < y->slowdown ? 1 : -1;
	return (x->host > y->host) - (x->host < y->host);
}

/*
 * The slowest of each stage go to the first pipeline, the next to the second, and so on. A host
 * keeps its stage, and thereby its layers.
 */
static void put_together(const struct rearrange_job *job, struct rearrange_plan *plan)
{
	CLEANUP(freep) struct ranked *stage = xcalloc(job->dp, sizeof(*stage));
	size_t d, p;

	for (p = 0; p < job->pp; p++) {
		for (d = 0; d < job->dp; d++)
			stage[d] =
				(struct ranked){ job->slowdown[d * job->pp + p], d * job->pp + p };
		qsort(stage, job->dp, sizeof(*stage), compare_ranked);
		for (d = 0; d < job->dp; d++)
			plan->hosts[d * job->pp + p] = stage[d].host;
	}
}

static int fits_now(const struct rearrange_job *job, struct err *err)
{
	size_t p, i, at = 0;

	for (p = 0; p < job->pp && job->bytes; p++) {
		double need = (p == 0 ? job->ends : 0) + (p + 1 == job->pp ? job->ends : 0);

		for (i = 0; i < job->split[p]; i++)
			need += job->bytes[at++];
		if (need > job->room * (1 + SAME))
			return err_set(err, ERANGE,
				       "stage %zu needs %.6g bytes now, %.6g more than the %.6g "
				       "that it has",
				       p, need, need - job->room, job->room);
	}
	return 0;
}

int rearrange_now(const struct rearrange_job *job, struct rearrange_bounds *ret_bounds,
		  struct err *err)
{
	CLEANUP(rearrange_plan_release) struct rearrange_plan plan = { 0 };
	double work = 0, speed = 0;
	size_t i;
	int r = check(job, err);

	if (r == 0)
		r = fits_now(job, err);
	if (r < 0)
		return r;
	plan = plan_of_now(job);
	for (i = 0; i < job->layers; i++)
		work += job->forward[i] + job->backward[i];
	for (i = 0; i < job->dp * job->pp; i++)
		speed += 1 / job->slowdown[i];
	*ret_bounds =
		(struct rearrange_bounds){ plan.time,
					   work * (double)(job->dp * job->microbatches) / speed };
	return 0;
}

static int arrange(const struct rearrange_job *job, enum rearrange_way way,
		   struct rearrange_plan *plan, struct err *err)
{
	int r = 0;

	if (way == REARRANGE_TOGETHER)
		put_together(job, plan);
	if (way != REARRANGE_MICROBATCHES && job->chunks <= 1)
		r = cut(job, plan, err);
	if (r == 0 && way != REARRANGE_LAYERS)
		deal(job, plan);
	return r;
}

int rearrange_plan(const struct rearrange_job *job, enum rearrange_way way,
		   struct rearrange_plan *ret_plan, struct err *err)
{
	struct rearrange_plan plan = { 0 };
	double now;
	int r = check(job, err);

	if (r == 0)
		r = fits_now(job, err);
	if (r < 0)
		return r;
	plan = plan_of_now(job);
	now = plan.time;
	r = arrange(job, way, &plan, err);
	if (r < 0) {
		rearrange_plan_release(&plan);
		return r;
	}
	plan.time = time_of_plan(job, &plan);
	plan.better = plan.time < now * (1 - SAME);
	if (!plan.better) {
		rearrange_plan_release(&plan);
		plan = plan_of_now(job);
	}
	plan.way = way;
	*ret_plan = plan;
	return 0;
}

void rearrange_plan_release(struct rearrange_plan *plan)
{
	free(plan->microbatches);
	free(plan->split);
	free(plan->hosts);
	*plan = (struct rearrange_plan){ 0 };
}

double rearrange_bytes(const struct rearrange_job *job, const struct rearrange_plan *plan)
{
	double most = 0;
	size_t d, p, i;

	for (d = 0; d < job->dp && job->bytes; d++) {
		size_t at = 0;

		for (p = 0; p < job->pp; p++) {
			size_t had = plan->hosts[d * job->pp + p] % job->pp, first = 0;
			double bytes = 0;

			for (i = 0; i < had; i++)
				first += job->split[i];
			for (i = 0; i < plan->split[d * job->pp + p]; i++, at++)
				if (at < first || at >= first + job->split[had])
					bytes += job->bytes[at];
			most = MAX(most, bytes);
		}
	}
	return most;
}
