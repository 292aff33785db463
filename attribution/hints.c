/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/hints.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

/*
 * Seconds: a start further before its dependencies means wrong clocks, so it does not count more.
 */
#define CLAMP_BELOW (-0.010)

enum { PEERS_MIN = 3 };

/*
 * Does a late start mean that the host was late? Not for a receive, which is posted when the host
 * gets to it, nor for the first operation after the pipeline, which waits for its last sends:
 * both depend on others.
 */
static bool host_decides(enum optype type)
{
	return !optype_is_p2p(type) && type != OP_LAYERNORM_GRADS;
}

/* Add the delays of a key's starts to its workers. */
static void add_delays(const struct trace *trace, const struct graph *graph, size_t key,
		       double *ready, struct launch_delay *workers)
{
	const double *start = trace_row(trace, trace->start, key);
	size_t lane, i, dp = trace->job.dp, pp = trace->job.pp;

	memset(ready, 0, trace->n_lanes * sizeof(*ready));
	for (i = graph->first[key]; i < graph->first[key + 1]; i++) {
		const double *from = trace_row(trace, trace->start, graph->deps[i]);
		const double *took = trace_row(trace, trace->duration, graph->deps[i]);

		for (lane = 0; lane < trace->n_lanes; lane++)
			ready[lane] = MAX(ready[lane], from[lane] + took[lane]);
	}
	for (lane = 0; lane < trace->n_lanes; lane++) {
		double delay = start[lane] - ready[lane];

		if (delay > CLAMP_BELOW)
			workers[lane % dp * pp + trace->keys[key].stage].seconds += delay;
	}
}

/* The median of the workers [first], [first + stride] ... */
static double median_of(const struct launch_delay *workers, size_t n, size_t stride, double *values)
{
	size_t i;

	for (i = 0; i < n; i++)
		values[i] = workers[i * stride].seconds;
	return stats_median_of(values, n);
}

static void compare_with_peers(const struct trace *trace, struct hints *hints)
{
	size_t dp = trace->job.dp, pp = trace->job.pp, d, stage, i;
	CLEANUP(freep) double *values = xcalloc(dp * pp, sizeof(*values));
	double all = 0;

	for (stage = 0; stage < pp; stage++) {
		double middle = dp < PEERS_MIN ? median_of(hints->workers, dp * pp, 1, values)
					       : median_of(hints->workers + stage, dp, pp, values);

		for (d = 0; d < dp; d++) {
			struct launch_delay *worker = &hints->workers[d * pp + stage];

			worker->above = MAX(worker->seconds - middle, 0);
			all += worker->above;
		}
	}
	for (i = 0; i < dp * pp; i++) {
		struct launch_delay *worker = &hints->workers[i];
		struct launch_delay *node = &hints->nodes[trace->job.workers[i].node];

		worker->share = all > 0 ? worker->above / all : (double)NAN;
		node->seconds += worker->seconds;
		node->above += worker->above;
	}
	for (i = 0; i < trace->job.n_nodes; i++)
		hints->nodes[i].share = all > 0 ? hints->nodes[i].above / all : (double)NAN;
}

/* Least-squares slope of the values over step numbers. */
static double slope(const struct trace *trace, const double *values)
{
	double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
	size_t i, n = trace->n_steps;

	for (i = 0; i < n; i++) {
		mean_x += (double)trace->steps[i] / (double)n;
		mean_y += values[i] / (double)n;
	}
	for (i = 0; i < n; i++) {
		double x = (double)trace->steps[i] - mean_x;

		xx += x * x;
		xy += x * (values[i] - mean_y);
	}
	return xx > 0 ? xy / xx : (double)NAN;
}

/* Duration of a step, and time between the first starts of the first and the last worker. */
struct step_times {
	double time, skew;
};

static struct step_times times_of(const struct trace *trace, size_t step, double *first)
{
	size_t key, d, dp = trace->job.dp;
	double time = 0, earliest = INFINITY, latest = -INFINITY;

	/* the keys of a stage are contiguous */
	for (key = 0; key < trace->n_keys; key++) {
		const double *start = trace_row(trace, trace->start, key) + step * dp;
		const double *duration = trace_row(trace, trace->duration, key) + step * dp;
		bool begins = key == 0 || trace->keys[key].stage != trace->keys[key - 1].stage;
		bool ends = key + 1 == trace->n_keys ||
			    trace->keys[key].stage != trace->keys[key + 1].stage;

		for (d = 0; d < dp; d++) {
			first[d] = begins ? start[d] : MIN(first[d], start[d]);
			time = MAX(time, start[d] + duration[d]);
		}
		for (d = 0; ends && d < dp; d++) {
			earliest = MIN(earliest, first[d]);
			latest = MAX(latest, first[d]);
		}
	}
	return (struct step_times){ time, latest - earliest };
}

static void find_drift(const struct trace *trace, struct hints *hints)
{
	CLEANUP(freep) double *first = xcalloc(trace->job.dp, sizeof(*first));
	CLEANUP(freep) double *times = xcalloc(trace->n_steps, sizeof(*times));
	CLEANUP(freep) double *skews = xcalloc(trace->n_steps, sizeof(*skews));
	size_t step;

	for (step = 0; step < trace->n_steps; step++) {
		struct step_times found = times_of(trace, step, first);

		times[step] = found.time;
		skews[step] = found.skew;
	}
	hints->step_time_slope = slope(trace, times);
	hints->start_skew_slope = slope(trace, skews);
}

struct hints hints_find(const struct trace *trace, const struct graph *graph)
{
	size_t i, n_workers = (size_t)trace->job.dp * trace->job.pp;
	CLEANUP(freep) double *ready = xcalloc(trace->n_lanes, sizeof(*ready));
	struct hints hints = {
		.workers = xcalloc(n_workers, sizeof(*hints.workers)),
		.nodes = xcalloc(trace->job.n_nodes, sizeof(*hints.nodes)),
	};

	for (i = 0; i < trace->n_keys; i++) {
		if (host_decides(trace->keys[i].type))
			add_delays(trace, graph, i, ready, hints.workers);
	}
	for (i = 0; i < n_workers; i++)
		hints.workers[i].seconds /= (double)trace->n_steps;
	compare_with_peers(trace, &hints);
	find_drift(trace, &hints);
	return hints;
}

void hints_release(struct hints *hints)
{
	free(hints->workers);
	free(hints->nodes);
	*hints = (struct hints){ 0 };
}
