/* SPDX-License-Identifier: Apache-2.0 */
/* Many sets of workers, each mended alone: simulate_mended(). */
#include "attribution/simulate_inside.h"

enum { SPARE_ROWS = 2 }; /* meeting and weights */

size_t simulation_mended_room(const struct simulation *simulation, size_t n_pairs)
{
	const struct graph *graph = simulation->graph;
	size_t n = simulation->block * simulation->trace->job.dp;

	return simulation_room(simulation) + graph->n_boundary * n +
	       (graph->n_slots + SPARE_ROWS) * simulation->block * n_pairs;
}

/* The early units of all pairs: their boundary stays in the rows of the pass. */
static struct pass run_pairs(const struct pass *all, const struct whatif_pairs *pairs, double *room)
{
	const struct graph *graph = all->simulation->graph;
	struct pass pass = *all;

	pass.pairs = pairs;
	pass.n = pass.stride = all->steps * pairs->n;
	pass.rows = room;
	pass.meeting = room + graph->n_slots * pass.stride;
	pass.weights = pass.meeting + pass.stride;
	pass_units(&pass, 0, graph->n_early);
	return pass;
}

/* The boundary of a set: the original, and its pairs where they are. */
static void put_boundary(const struct pass *pass, const struct pass *pairs, size_t set,
			 const double *original)
{
	const struct graph *graph = pass->simulation->graph;
	size_t dp = pass->simulation->trace->job.dp, b, step;
	uint32_t j;

	for (b = 0; b < graph->n_boundary; b++, original += pass->n) {
		const double *from = pass_row(pairs, graph->boundary[b]);
		double *row = pass_row(pass, graph->boundary[b]);

		memcpy(row, original, pass->n * sizeof(*row));
		for (j = pairs->pairs->first[set]; j < pairs->pairs->first[set + 1]; j++) {
			for (step = 0; step < pass->steps; step++)
				row[step * dp + pairs->pairs->ranks[j]] =
					from[step * pairs->pairs->n + j];
		}
	}
}

void simulate_mended(const struct simulation *simulation, const struct whatif *whatifs,
		     const struct whatif_pairs *pairs, size_t block, double *room)
{
	const struct graph *graph = simulation->graph;
	double *original = room + simulation_room(simulation);
	struct whatif unchanged = { .ideal = whatifs[0].ideal };
	struct pass all = pass_of(simulation, &unchanged, block, room), of_pairs;
	size_t b, set;

	pass_units(&all, 0, graph->n_early);
	for (b = 0; b < graph->n_boundary; b++)
		memcpy(original + b * all.n, pass_row(&all, graph->boundary[b]),
		       all.n * sizeof(*original));
	of_pairs = run_pairs(&all, pairs, original + graph->n_boundary * all.n);
	for (set = 0; set < pairs->n_sets; set++) {
		all.whatif = &whatifs[set];
		put_boundary(&all, &of_pairs, set, original);
		pass_units(&all, graph->n_early, graph->n_units);
		pass_times(&all);
	}
}
