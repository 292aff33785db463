/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_alone TRACE: times all simulations of a trace without reading it: the
 * part of attribution_new() between the graph and the labels. Prints seconds, a
 * median.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "attribution/cost.h"
#include "attribution/crew.h"
#include "attribution/graph.h"
#include "attribution/slowdown.h"
#include "attribution/trace_build.h"
#include "attribution/trace_reader.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"

enum { TIMES = 11 };

static int by_time(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int simulate(const struct trace *trace, const struct graph *graph, struct err *err)
{
	struct slowdown slowdown = { 0 };
	struct cost cost = { 0 };
	int r = cost_find(trace, graph, crew_threads(), &cost, err);

	if (r == 0)
		r = slowdown_find(trace, graph, &cost, crew_threads(), &slowdown, err);
	if (r == 0)
		r = slowdown_find_nodes(trace, graph, &cost, crew_threads(), &slowdown, err);
	slowdown_release(&slowdown);
	cost_release(&cost);
	return r;
}

static int run(const char *path, struct err *err)
{
	CLEANUP(trace_reader_freep) struct trace_reader *reader = NULL;
	struct trace *trace = NULL;
	struct graph *graph = NULL;
	uint64_t took_us[TIMES];
	int r = trace_reader_open(path, NULL, &reader, err), i;

	if (r == 0)
		r = MIN(0, trace_reader_next(reader, SIZE_MAX, &trace, err));
	if (r == 0)
		r = graph_new(trace, &graph, err);
	for (i = 0; r == 0 && i < TIMES; i++) {
		took_us[i] = clock_mono_us();
		r = simulate(trace, graph, err);
		took_us[i] = clock_mono_us() - took_us[i];
	}
	if (r == 0) {
		qsort(took_us, TIMES, sizeof(*took_us), by_time);
		printf("%.6f\n", (double)took_us[TIMES / 2] / USEC_PER_SEC);
	}
	graph_free(graph);
	trace_free(trace);
	return r;
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;

	if (argc != 2 || run(argv[1], &err) < 0) {
		(void)fprintf(stderr, "simulate_alone: %s\n", argc == 2 ? err.msg : "one TRACE");
		return 2;
	}
	return 0;
}
