/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/cost.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/crew.h"
#include "attribution/graph.h"
#include "attribution/trace.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

/* Seconds: more negative transfers are clamped to 0. */
#define CLAMP_BELOW (-0.010)

/* Input and output of a thread. */
struct transfers {
	const struct trace *trace;
	const struct graph *graph;
	double *value;	 /* shared: each thread writes the rows of its units */
	double *meeting; /* [lane] */
	size_t negative, clamped;
};

/* When the last member has started, in each lane. */
static void find_meeting(const struct trace *trace, const struct graph *graph,
			 const struct graph_unit *unit, double *meeting)
{
	size_t lane, m, step, d, dp = trace->job.dp;

	for (m = 0; m < unit->n_members; m++) {
		size_t key = graph->members[unit->first_member + m];
		const double *start = trace_row(trace, trace->start, key);

		for (lane = 0; lane < trace->n_lanes; lane++)
			meeting[lane] = m == 0 || start[lane] > meeting[lane] ? start[lane]
									      : meeting[lane];
	}
	for (step = 0; unit->over_dp && step < trace->n_steps; step++) {
		double *lanes = meeting + step * dp, latest = lanes[0];

		for (d = 1; d < dp; d++)
			latest = lanes[d] > latest ? lanes[d] : latest;
		for (d = 0; d < dp; d++)
			lanes[d] = latest;
	}
}

static void find_transfer(const struct trace *trace, size_t key, const double *meeting,
			  struct transfers *found)
{
	const double *start = trace_row(trace, trace->start, key);
	const double *duration = trace_row(trace, trace->duration, key);
	double *value = trace_row(trace, found->value, key);
	size_t lane;

	for (lane = 0; lane < trace->n_lanes; lane++) {
		double transfer = start[lane] + duration[lane] - meeting[lane];

		if (transfer <= CLAMP_BELOW) {
			transfer = 0;
			found->clamped++;
		} else if (transfer < 0) {
			found->negative++;
		}
		value[lane] = transfer;
	}
}

/* Mean of rows, summed row by row for accuracy. */
static double mean_of(const struct trace *trace, const struct cost *cost, enum optype type, size_t n)
{
	double sum = 0;
	size_t key, lane;

	for (key = 0; key < trace->n_keys; key++) {
		const double *row = trace_row(trace, cost->value, key);
		double part = 0;

		if (trace->keys[key].type != type)
			continue;
		for (lane = 0; lane < trace->n_lanes; lane++)
			part += row[lane];
		sum += part;
	}
	return sum / (double)n;
}

static int median_of(const struct trace *trace, const struct cost *cost, enum optype type, size_t n,
		     double *ret_median, struct err *err)
{
	CLEANUP(freep) double *pool = malloc(n * sizeof(*pool));
	size_t key, at = 0;

	if (!pool)
		return err_set(err, ENOMEM, "no memory for %zu operations", n);
	for (key = 0; key < trace->n_keys; key++) {
		if (trace->keys[key].type != type)
			continue;
		memcpy(pool + at, trace_row(trace, cost->value, key),
		       trace->n_lanes * sizeof(*pool));
		at += trace->n_lanes;
	}
	*ret_median = stats_median_of(pool, n);
	return 0;
}

struct ideals {
	const struct trace *trace;
	struct cost *cost;
	int r[OPTYPE_N];
	struct err err[OPTYPE_N];
};

/*
 * Mean of computes, since the work could be shared equally; median of transfers, which have
 * outliers.
 */
static void find_ideal(void *context, size_t i, size_t thread UNUSED)
{
	struct ideals *ideals = context;
	const struct trace *trace = ideals->trace;
	struct cost *cost = ideals->cost;
	enum optype type = (enum optype)i;
	size_t n = 0, key;

	for (key = 0; key < trace->n_keys; key++)
		n += trace->keys[key].type == type ? trace->n_lanes : 0;
	cost->has[type] = n > 0;
	if (n == 0)
		return;
	if (optype_is_communication(type))
		ideals->r[type] =
			median_of(trace, cost, type, n, &cost->ideal[type], &ideals->err[type]);
	else
		cost->ideal[type] = mean_of(trace, cost, type, n);
}

static int find_ideals(const struct trace *trace, size_t n_threads, struct cost *cost,
		       struct err *err)
{
	struct ideals ideals = { .trace = trace, .cost = cost };
	size_t i;

	crew_run(n_threads, OPTYPE_N, find_ideal, &ideals);
	for (i = 0; i < OPTYPE_N; i++) {
		if (ideals.r[i] < 0)
			return err_set(err, -ideals.r[i], "%s", ideals.err[i].msg);
	}
	return 0;
}

static void find_unit(void *context, size_t i, size_t thread)
{
	struct transfers *mine = (struct transfers *)context + thread;
	const struct graph_unit *unit = &mine->graph->units[i];
	size_t m;

	if (!unit->sync)
		return;
	find_meeting(mine->trace, mine->graph, unit, mine->meeting);
	for (m = 0; m < unit->n_members; m++)
		find_transfer(mine->trace, mine->graph->members[unit->first_member + m],
			      mine->meeting, mine);
}

int cost_find(const struct trace *trace, const struct graph *graph, size_t n_threads,
	      struct cost *ret_cost, struct err *err)
{
	size_t i, n = trace->n_keys * trace->n_lanes;
	CLEANUP(cost_release) struct cost cost = { .value = malloc(n * sizeof(double)) };
	CLEANUP(freep) double *meeting = calloc(trace->n_lanes * n_threads, sizeof(*meeting));
	CLEANUP(freep) struct transfers *threads = xcalloc(n_threads, sizeof(*threads));
	int r;

	if (!cost.value || !meeting)
		return err_set(err, ENOMEM, "no memory for %zu operations", n);
	memcpy(cost.value, trace->duration, n * sizeof(*cost.value));
	for (i = 0; i < n_threads; i++)
		threads[i] = (struct transfers){ trace,	     graph,
						 cost.value, meeting + i * trace->n_lanes,
						 0,	     0 };
	crew_run(n_threads, graph->n_units, find_unit, threads);
	for (i = 0; i < n_threads; i++) {
		cost.negative += threads[i].negative;
		cost.clamped += threads[i].clamped;
	}
	r = find_ideals(trace, n_threads, &cost, err);
	if (r < 0)
		return r;
	*ret_cost = cost;
	cost.value = NULL;
	return 0;
}

void cost_release(struct cost *cost)
{
	free(cost->value);
	*cost = (struct cost){ 0 };
}
