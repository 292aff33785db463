/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/replay.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

static struct replay replay_new(const struct trace *trace)
{
	size_t n = trace->n_keys * trace->job.dp;

	return (struct replay){ xcalloc(n, sizeof(double)), xcalloc(n, sizeof(double)),
				xcalloc(n, sizeof(double)) };
}

void replay_release(struct replay *replay)
{
	free(replay->start);
	free(replay->ready);
	free(replay->end);
	*replay = (struct replay){ 0 };
}

/* When the last dependency of a key ends. */
static double after_deps(const struct graph *graph, const double *end, size_t key, size_t dp,
			 size_t d)
{
	double at = 0;
	size_t i;

	for (i = graph->first[key]; i < graph->first[key + 1]; i++)
		at = MAX(at, end[graph->deps[i] * dp + d]);
	return at;
}

/* The last start of a unit's members, on one DP rank or all. */
static double last_start(const struct graph *graph, const struct graph_unit *unit,
			 const double *start, size_t dp, size_t d)
{
	size_t first = unit->over_dp ? 0 : d, last = unit->over_dp ? dp - 1 : d, m, i;
	double at = 0;

	for (m = 0; m < unit->n_members; m++) {
		for (i = first; i <= last; i++)
			at = MAX(at, start[graph->members[unit->first_member + m] * dp + i]);
	}
	return at;
}

/* Set when data begins to move in all members, once their starts are known. */
static void make_ready(const struct graph *graph, const struct graph_unit *unit,
		       struct replay *replay, size_t dp)
{
	size_t d, m;

	for (d = 0; d < dp; d++) {
		bool same = d > 0 && unit->over_dp;
		double together =
			unit->sync && !same ? last_start(graph, unit, replay->start, dp, d) : 0;

		for (m = 0; m < unit->n_members; m++) {
			size_t key = graph->members[unit->first_member + m], at = key * dp + d;

			if (!unit->sync)
				replay->ready[at] = replay->start[at];
			else
				replay->ready[at] = same ? replay->ready[key * dp] : together;
		}
	}
}

struct replay replay_ideal(const struct trace *trace, const struct graph *graph,
			   const struct cost *cost)
{
	struct replay replay = replay_new(trace);
	size_t dp = trace->job.dp, u, m, d;

	for (u = 0; u < graph->n_units; u++) {
		const struct graph_unit *unit = &graph->units[u];
		const uint32_t *members = &graph->members[unit->first_member];

		for (m = 0; m < unit->n_members; m++) {
			for (d = 0; d < dp; d++)
				replay.start[members[m] * dp + d] =
					after_deps(graph, replay.end, members[m], dp, d);
		}
		make_ready(graph, unit, &replay, dp);
		for (m = 0; m < unit->n_members; m++) {
			double takes = cost->ideal[trace->keys[members[m]].type];

			for (d = 0; d < dp; d++)
				replay.end[members[m] * dp + d] =
					replay.ready[members[m] * dp + d] + takes;
		}
	}
	return replay;
}

struct replay replay_recorded(const struct trace *trace, const struct graph *graph, size_t step)
{
	struct replay replay = replay_new(trace);
	size_t dp = trace->job.dp, key, d, u;

	for (key = 0; key < trace->n_keys; key++) {
		for (d = 0; d < dp; d++) {
			size_t cell = key * trace->n_lanes + step * dp + d;

			replay.start[key * dp + d] = trace->start[cell];
			replay.end[key * dp + d] = trace->start[cell] + trace->duration[cell];
		}
	}
	for (u = 0; u < graph->n_units; u++)
		make_ready(graph, &graph->units[u], &replay, dp);
	return replay;
}
