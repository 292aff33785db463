/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/attribution.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/trace_build.h"
#include "lib/base/xalloc.h"

struct interval attribution_slowdown(const struct attribution *a, const double *times)
{
	size_t n = a->bootstrap.n_draws + 1, i;
	CLEANUP(freep) double *means = xcalloc(n, sizeof(*means));

	bootstrap_means(&a->bootstrap, times, means);
	for (i = 0; i < n; i++)
		means[i] /= a->slowdown.ideal;
	return bootstrap_interval(&a->bootstrap, means);
}

struct interval attribution_share(const struct attribution *a, const double *times)
{
	size_t n = a->bootstrap.n_draws + 1, i;
	CLEANUP(freep) double *all = xcalloc(n, sizeof(*all));
	CLEANUP(freep) double *mended = xcalloc(n, sizeof(*mended));

	if (!a->slowdown.measurable)
		return (struct interval){ NAN, NAN, NAN };
	bootstrap_means(&a->bootstrap, a->slowdown.step_simulated, all);
	bootstrap_means(&a->bootstrap, times, mended);
	for (i = 0; i < n; i++)
		mended[i] = (all[i] - mended[i]) / (all[i] - a->slowdown.ideal);
	return bootstrap_interval(&a->bootstrap, mended);
}

/* Speeds of hosts may be given without the spread of good ones. */
static double low_of(const struct attribution_options *options)
{
	if (options->speeds && options->speeds->good.low > 0)
		return options->speeds->good.low;
	return exp(-SILICON_TAIL * options->spread);
}

static int find(struct attribution *a, struct err *err)
{
	struct trace *trace = a->trace;
	size_t n_threads = a->options.n_threads;
	struct replace_case whom;
	struct suspects_case of;
	int r = graph_new(trace, &a->graph, err);

	if (r == 0 && a->options.align)
		r = align_clocks(trace, a->graph, &a->alignment, err);
	if (r == 0)
		r = cost_find(trace, a->graph, n_threads, &a->cost, err);
	if (r == 0)
		r = slowdown_find(trace, a->graph, &a->cost, n_threads, &a->slowdown, err);
	if (r == 0 && a->options.nodes)
		r = slowdown_find_nodes(trace, a->graph, &a->cost, n_threads, &a->slowdown, err);
	if (r < 0)
		return r;
	a->cause = cause_find(trace, &a->slowdown, a->options.min_slowdown);
	a->hints = hints_find(trace, a->graph);
	a->bootstrap = bootstrap_new(trace->n_steps, a->options.draws);
	a->s = attribution_slowdown(a, a->slowdown.step_simulated);
	if (a->options.speeds)
		a->speeds = speeds_of_workers(a->options.speeds, &trace->job);
	of = (struct suspects_case){ trace,
				     a->graph,
				     &a->cost,
				     a->slowdown.step_simulated,
				     &a->bootstrap,
				     a->options.min_gain,
				     a->options.share,
				     { a->options.spread, a->speeds, low_of(&a->options) },
				     a->options.beyond };
	a->lateness =
		lateness_find(trace, a->alignment.by_ends, a->options.spread, a->slowdown.recorded);
	a->outline = outline_find(trace, &a->slowdown.balance);
	whom = (struct replace_case){ trace, a->graph, &a->cost, &a->slowdown, &a->bootstrap };
	r = replace_find(&whom, n_threads, &a->replace, err);
	return r < 0 ? r : suspects_find(&of, n_threads, &a->suspects, err);
}

int attribution_new(struct trace *trace, const struct attribution_options *options,
		    struct attribution **ret_attribution, struct err *err)
{
	CLEANUP(attribution_freep) struct attribution *a = xcalloc(1, sizeof(*a));
	int r;

	a->trace = trace;
	a->options = *options;
	r = find(a, err);
	if (r < 0)
		return r;
	/* An inconsistent trace blames nobody. */
	a->suspects.counts &= a->cause.primary != CAUSE_REJECTED;
	*ret_attribution = TAKE(a);
	return 0;
}

void attribution_free(struct attribution *a)
{
	if (!a)
		return;
	json_decref(a->remedies);
	lateness_release(&a->lateness);
	suspects_release(&a->suspects);
	outline_release(&a->outline);
	free(a->speeds);
	bootstrap_release(&a->bootstrap);
	hints_release(&a->hints);
	slowdown_release(&a->slowdown);
	cost_release(&a->cost);
	alignment_release(&a->alignment);
	graph_free(a->graph);
	trace_free(a->trace);
	free(a);
}
