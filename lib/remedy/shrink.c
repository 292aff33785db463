/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/shrink.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/distribute.h"
#include "lib/remedy/layers_cut.h"
#include "lib/remedy/pipeline.h"

/* --- templates --- */

static double *seconds_of(const struct rearrange_job *job)
{
	double *seconds = xcalloc(job->layers, sizeof(*seconds));
	size_t i;

	for (i = 0; i < job->layers; i++)
		seconds[i] = job->forward[i] + job->backward[i];
	return seconds;
}

static int cut(const struct rearrange_job *job, const double *seconds, size_t stages,
	       size_t *ret_counts, struct err *err)
{
	const struct layers_cut_wish wish = { seconds, job->bytes, NULL,     job->layers,
					      stages,  job->room,  job->ends };

	return layers_cut(&wish, ret_counts, err);
}

/* n0; since the job is running, not more than it has now. */
static int find_least(const struct rearrange_job *job, const double *seconds, size_t *ret_least,
		      struct err *err)
{
	CLEANUP(freep) size_t *counts = xcalloc(job->layers, sizeof(*counts));
	size_t stages;
	int r = 0;

	for (stages = 1; stages <= job->pp; stages++) {
		r = cut(job, seconds, stages, counts, err);
		if (r == 0) {
			*ret_least = stages;
			return 0;
		}
	}
	return r;
}

int shrink_templates(const struct rearrange_job *job, size_t failures,
		     struct shrink_templates *ret_templates, struct err *err)
{
	CLEANUP(shrink_templates_release) struct shrink_templates templates = { 0 };
	CLEANUP(freep) double *seconds = NULL;
	struct rearrange_bounds bounds;
	size_t size;
	int r = rearrange_now(job, &bounds, err);

	if (r == 0 && job->dp * job->pp > SHRINK_HOSTS_MAX)
		r = err_set(err, EINVAL, "%zu hosts: expected at most %d", job->dp * job->pp,
			    SHRINK_HOSTS_MAX);
	if (r < 0)
		return r;
	seconds = seconds_of(job);
	r = find_least(job, seconds, &templates.least, err);
	if (r == 0)
		r = oobleck_sizes(job->dp * job->pp, failures, templates.least, &templates.sizes,
				  err);
	if (r < 0)
		return r;
	templates.sizes.last = MIN(templates.sizes.last, job->layers);
	templates.cuts = xcalloc((templates.sizes.last - templates.least + 1) * templates.sizes.last,
				 sizeof(*templates.cuts));
	for (size = templates.least; size <= templates.sizes.last && r == 0; size++)
		r = cut(job, seconds, size,
			templates.cuts + (size - templates.least) * templates.sizes.last, err);
	if (r < 0)
		return r;
	*ret_templates = templates;
	templates.cuts = NULL;
	return 0;
}

void shrink_templates_release(struct shrink_templates *templates)
{
	free(templates->cuts);
	*templates = (struct shrink_templates){ .least = 0 };
}

const size_t *shrink_cut(const struct shrink_templates *templates, size_t size)
{
	return templates->cuts + (size - templates->sizes.first) * templates->sizes.last;
}

/* --- the best pipelines for a job --- */

static struct pipeline template_of(const struct rearrange_job *job,
				   const struct shrink_templates *templates, size_t size)
{
	const struct pipeline_model model = { job->forward, job->backward, job->layers };

	return pipeline_of(&model, shrink_cut(templates, size), NULL, NULL, size);
}

/* The slowest stage for each size: the time per additional micro-batch. */
static double *slowest_stages(const struct rearrange_job *job,
			      const struct shrink_templates *templates)
{
	size_t n = templates->sizes.last - templates->sizes.first + 1, i, p;
	double *slowest = xcalloc(n, sizeof(*slowest));

	for (i = 0; i < n; i++) {
		struct pipeline one = template_of(job, templates, templates->sizes.first + i);

		for (p = 0; p < one.stages; p++)
			slowest[i] = MAX(slowest[i], one.forward[p] + one.backward[p]);
		pipeline_release(&one);
	}
	return slowest;
}

/* A lower bound for an option, from the slowest stages alone; INFINITY: too few micro-batches. */
static double quick_time(const struct oobleck_wish *wish, const uint16_t *counts,
			 const double *slowest, size_t total, size_t *dealt, double *t)
{
	struct distribute_wish deal = { .t = t, .total = total };
	size_t p, i;

	for (p = 0; p < wish->n_sizes; p++)
		for (i = 0; i < counts[p]; i++)
			t[deal.n++] = slowest[p];
	return distribute_minmax(&deal, dealt, NULL) < 0 ? INFINITY
							 : distribute_slowest(&deal, dealt);
}

static void take_choice(const struct rearrange_job *job, const struct shrink_templates *templates,
			const struct oobleck_wish *wish, const uint16_t *counts,
			struct shrink_choice *choice)
{
	struct pipeline *all = xcalloc(wish->hosts, sizeof(*all));
	size_t p, i;

	choice->sizes = xcalloc(wish->hosts, sizeof(*choice->sizes));
	choice->microbatches = xcalloc(wish->hosts, sizeof(*choice->microbatches));
	for (p = 0; p < wish->n_sizes; p++) {
		for (i = 0; i < counts[p]; i++) {
			all[choice->n] = template_of(job, templates, wish->sizes[p]);
			choice->sizes[choice->n++] = wish->sizes[p];
		}
	}
	choice->time =
		pipeline_deal(all, choice->n, job->dp * job->microbatches, choice->microbatches);
	for (i = 0; i < choice->n; i++)
		pipeline_release(&all[i]);
	free(all);
}

static int look(const struct rearrange_job *job, const struct shrink_templates *templates,
		const struct oobleck_wish *wish, const struct oobleck_options *options,
		struct shrink_choice *choice, struct err *err)
{
	CLEANUP(freep) double *slowest = slowest_stages(job, templates);
	CLEANUP(freep) size_t *dealt = xcalloc(wish->hosts, sizeof(*dealt));
	CLEANUP(freep) double *t = xcalloc(wish->hosts, sizeof(*t));
	size_t every = options->n / SHRINK_LOOKED_MAX + 1, best_of = 0, i;
	double best = INFINITY;

	for (i = 0; i < options->n; i += every) {
		double time = quick_time(wish, options->counts + i * wish->n_sizes, slowest,
					 job->dp * job->microbatches, dealt, t);

		if (time < best) {
			best = time;
			best_of = i;
		}
		choice->looked++;
	}
	if (isinf(best))
		return err_set(err, ERANGE,
			       "%zu hosts cannot form %zu pipelines of %zu to %zu hosts for which "
			       "%zu micro-batches are enough",
			       wish->hosts, wish->pipelines, templates->sizes.first,
			       templates->sizes.last, job->dp * job->microbatches);
	take_choice(job, templates, wish, options->counts + best_of * wish->n_sizes, choice);
	return 0;
}

int shrink_choose(const struct rearrange_job *job, const struct shrink_templates *templates,
		  size_t hosts, size_t failures, struct shrink_choice *ret_choice, struct err *err)
{
	CLEANUP(oobleck_options_release) struct oobleck_options options = { .n = 0 };
	CLEANUP(freep) size_t *sizes = NULL;
	struct oobleck_wish wish = { .n_sizes = templates->sizes.last - templates->sizes.first + 1,
				     .hosts = hosts,
				     .pipelines = failures + 1 };
	struct shrink_choice choice = { .n = 0 };
	size_t i;
	int r;

	sizes = xcalloc(wish.n_sizes, sizeof(*sizes));
	for (i = 0; i < wish.n_sizes; i++)
		sizes[i] = templates->sizes.first + i;
	wish.sizes = sizes;
	r = oobleck_options(&wish, &options, err);
	if (r < 0)
		return r;
	if (options.n < options.n_enough)
		return err_set(err, ERANGE,
			       "%zu hosts in pipelines of %zu to %zu have more than %d "
			       "instantiations: too many to choose from",
			       hosts, templates->sizes.first, templates->sizes.last,
			       OOBLECK_OPTIONS_MAX);
	choice.all = options.n_enough;
	r = look(job, templates, &wish, &options, &choice, err);
	if (r < 0)
		return r;
	*ret_choice = choice;
	return 0;
}

void shrink_choice_release(struct shrink_choice *choice)
{
	free(choice->sizes);
	free(choice->microbatches);
	*choice = (struct shrink_choice){ .n = 0 };
}

/* --- after losses --- */

/* The first row of a layer. */
static int64_t row_of(const struct rearrange_job *job, size_t layer)
{
	double all = 0, before = 0;
	size_t i;

	for (i = 0; i < job->layers; i++) {
		double bytes = job->bytes ? job->bytes[i] : 1;

		before += i < layer ? bytes : 0;
		all += bytes;
	}
	return all > 0 ? (int64_t)llround(before / all * SHRINK_ROWS) : 0;
}

size_t shrink_layer(const struct rearrange_job *job, int64_t row)
{
	size_t layer = 0;

	while (layer + 1 < job->layers && row_of(job, layer + 1) <= row)
		layer++;
	return layer;
}

/* The rows of a stage of a pipeline with this split. */
static struct hotspa_switch_shard rows_of(const struct rearrange_job *job, const size_t *split,
					  size_t stage)
{
	size_t first = 0, p;

	for (p = 0; p < stage; p++)
		first += split[p];
	return (struct hotspa_switch_shard){ row_of(job, first),
					     row_of(job, first + split[stage]) - 1 };
}

static const struct hotspa_switch_shard nothing = { 0, -1 };

static bool is_in(const uint32_t *list, size_t n, size_t host)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (list[i] == host)
			return true;
	return false;
}

/* The most rows that a host sends or receives. */
static double most_rows(const struct hotspa_switch_plan *copies, size_t hosts)
{
	CLEANUP(freep) double *gets = xcalloc(hosts, sizeof(*gets));
	double most = 0;
	size_t i;

	for (i = 0; i < copies->n; i++) {
		const struct hotspa_switch_move *m = &copies->moves[i];

		if (!m->local)
			gets[m->to] += (double)(m->rows.last - m->rows.first + 1);
	}
	for (i = 0; i < hosts; i++) {
		gets[i] = MAX(gets[i], (double)copies->inter[i]);
		most = MAX(most, gets[i]);
	}
	return most;
}

/* Who gets what from whom: a row is a part of the model's bytes. */
static int copy(const struct rearrange_job *job, const struct shrink_templates *templates,
		const uint32_t *lost, size_t n_lost, struct shrink_plan *plan, struct err *err)
{
	size_t hosts = job->dp * job->pp, i, p = 0, at = 0;
	CLEANUP(freep) struct hotspa_switch_shard *source = xcalloc(hosts, sizeof(*source));
	CLEANUP(freep) struct hotspa_switch_shard *target = xcalloc(hosts, sizeof(*target));
	CLEANUP(freep) size_t *own = xcalloc(hosts, sizeof(*own));
	const struct hotspa_switch_wish wish = { source, target, own, hosts };
	double bytes = 0;
	int r;

	for (i = 0; i < hosts; i++) {
		own[i] = i;
		target[i] = nothing;
		source[i] = is_in(lost, n_lost, i) ? nothing
						   : rows_of(job, job->split, i % job->pp);
	}
	for (p = 0; p < plan->pipelines.n; p++) {
		size_t size = plan->pipelines.ends[p] - at;

		for (i = 0; i < size; i++)
			target[plan->pipelines.hosts[at + i]] =
				rows_of(job, shrink_cut(templates, size), i);
		at += size;
	}
	for (i = 0; i < job->layers && job->bytes; i++)
		bytes += job->bytes[i];
	r = hotspa_switch_plan(&wish, &plan->copies, err);
	plan->restart = r == -ERANGE;
	if (r == 0)
		plan->bytes = most_rows(&plan->copies, hosts) / SHRINK_ROWS * bytes;
	return plan->restart ? 0 : r;
}

/* In a pipeline longer than the longest template, the last hosts are idle. */
static void trim(const struct shrink_templates *templates, struct reconfigure_pipelines *pipelines)
{
	size_t p, i, from = 0, to = 0;

	for (p = 0; p < pipelines->n; p++) {
		size_t end = pipelines->ends[p];
		size_t size = MIN(end - from, templates->sizes.last);

		for (i = 0; i < size; i++)
			pipelines->hosts[to++] = pipelines->hosts[from + i];
		pipelines->ends[p] = to;
		from = end;
	}
	pipelines->n_hosts = to;
}

static void deal(const struct rearrange_job *job, const struct shrink_templates *templates,
		 struct shrink_plan *plan)
{
	const struct pipeline_model model = { job->forward, job->backward, job->layers };
	struct pipeline *all = xcalloc(plan->pipelines.n, sizeof(*all));
	size_t p, i, at = 0;

	for (p = 0; p < plan->pipelines.n; p++) {
		size_t size = plan->pipelines.ends[p] - at;
		CLEANUP(freep) size_t *hosts = xcalloc(size, sizeof(*hosts));

		for (i = 0; i < size; i++)
			hosts[i] = plan->pipelines.hosts[at + i];
		all[p] = pipeline_of(&model, shrink_cut(templates, size), job->slowdown, hosts,
				     size);
		at += size;
	}
	plan->microbatches = xcalloc(plan->pipelines.n, sizeof(*plan->microbatches));
	plan->time = pipeline_deal(all, plan->pipelines.n, job->dp * job->microbatches,
				   plan->microbatches);
	for (p = 0; p < plan->pipelines.n; p++)
		pipeline_release(&all[p]);
	free(all);
}

static int regroup(const struct rearrange_job *job, size_t least, const uint32_t *lost,
		   size_t n_lost, struct shrink_plan *plan, struct err *err)
{
	size_t hosts = job->dp * job->pp, i;
	CLEANUP(freep) uint32_t *list = xcalloc(hosts, sizeof(*list));
	CLEANUP(freep) size_t *ends = xcalloc(job->dp, sizeof(*ends));
	const struct reconfigure_pipelines old = { list, ends, hosts, job->dp };

	for (i = 0; i < hosts; i++)
		list[i] = (uint32_t)i;
	for (i = 0; i < job->dp; i++)
		ends[i] = (i + 1) * job->pp;
	return reconfigure_pipelines(&old, lost, n_lost, least, &plan->pipelines, &plan->way, err);
}

int shrink_plan(const struct rearrange_job *job, const struct shrink_templates *templates,
		const uint32_t *lost, size_t n_lost, struct shrink_plan *ret_plan, struct err *err)
{
	struct shrink_plan plan = { .time = 0 };
	int r = regroup(job, templates->least, lost, n_lost, &plan, err);

	if (r < 0)
		return r;
	trim(templates, &plan.pipelines);
	deal(job, templates, &plan);
	r = copy(job, templates, lost, n_lost, &plan, err);
	if (r < 0) {
		shrink_plan_release(&plan);
		return r;
	}
	*ret_plan = plan;
	return 0;
}

void shrink_plan_release(struct shrink_plan *plan)
{
	reconfigure_pipelines_release(&plan->pipelines);
	hotspa_switch_release(&plan->copies);
	free(plan->microbatches);
	*plan = (struct shrink_plan){ .time = 0 };
}
