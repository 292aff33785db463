/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/simulate.h"

/* A running simulation of a block. */
struct pass {
	const struct simulation *simulation;
	const struct whatif *whatif;
	size_t first_lane, n_lanes; /* of the trace */
	size_t steps;
	size_t n;	     /* numbers used per row: the lanes, twice that if alone */
	size_t stride;	     /* distance of rows */
	const double *costs; /* of the block, by member: `n_lanes` numbers each */
	double *rows, *meeting, *weights, *latest;
	const struct whatif_pairs *pairs; /* lanes are [step][pair]; NULL: [step][dp] */
};

static inline double *pass_row(const struct pass *pass, uint32_t key)
{
	return pass->rows + pass->simulation->graph->slot[key] * pass->stride;
}

/* A pass over all lanes of a block, in memory of size simulation_room(). */
static struct pass pass_of(const struct simulation *simulation, const struct whatif *whatif,
			   size_t block, double *room);
/* Compute the ends of some units, in order. */
static void pass_units(const struct pass *pass, size_t first, size_t end);
/* Compute the step times, once all units have ended. */
static void pass_times(const struct pass *pass);

/* Many sets of workers, each fixed alone: simulate_mended(). */

enum { MENDED_SPARE_ROWS = 2 }; /* meeting and weights */

size_t simulation_mended_room(const struct simulation *simulation, size_t n_pairs)
{
	const struct graph *graph = simulation->graph;
	size_t n = simulation->block * simulation->trace->job.dp;

	return simulation_room(simulation) + graph->n_boundary * n +
	       (graph->n_slots + MENDED_SPARE_ROWS) * simulation->block * n_pairs;
}

/* Simulate the early units for all pairs: their boundary stays in the rows of the pass. */
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

/* Set up the boundary of a set: the original, except for its pairs. */
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

enum {
	CACHE_SIZE = 1 << 18, /* bytes of rows to keep in cache: part of a typical L2 */
	ROW_ALIGN = 8,	      /* in doubles */
	SPARE_ROWS = 3,	      /* meeting, weights and latest */
};

static size_t row_stride(const struct simulation *simulation)
{
	size_t n = 2 * simulation->block * simulation->trace->job.dp;

	return (n + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
}

struct simulation simulation_of(const struct trace *trace, const struct graph *graph,
				const double *cost, size_t n_threads)
{
	size_t step_size = graph->n_slots * trace->job.dp * sizeof(double);
	size_t share = (trace->n_steps + n_threads - 1) / n_threads;

	return (struct simulation){
		.graph = graph,
		.trace = trace,
		.cost = cost,
		.block = MAX(MIN(CACHE_SIZE / step_size, share), (size_t)1),
	};
}

size_t simulation_blocks(const struct simulation *simulation)
{
	return (simulation->trace->n_steps + simulation->block - 1) / simulation->block;
}

/* Offset of the costs in the room. */
static size_t costs_at(const struct simulation *simulation)
{
	return (simulation->graph->n_slots + SPARE_ROWS) * row_stride(simulation);
}

size_t simulation_room(const struct simulation *simulation)
{
	return costs_at(simulation) +
	       simulation->graph->n_keys * simulation->block * simulation->trace->job.dp;
}

static size_t steps_of(const struct simulation *simulation, size_t block)
{
	size_t first = block * simulation->block;

	return MIN(simulation->block, simulation->trace->n_steps - first);
}

void simulate_load(const struct simulation *simulation, size_t block, double *room)
{
	const struct trace *trace = simulation->trace;
	size_t first = block * simulation->block * trace->job.dp, m;
	size_t n = steps_of(simulation, block) * trace->job.dp;
	double *costs = room + costs_at(simulation);

	for (m = 0; m < simulation->graph->n_keys; m++, costs += n)
		memcpy(costs,
		       simulation->cost + simulation->graph->members[m] * trace->n_lanes + first,
		       n * sizeof(*costs));
}

static void max_of_2(double *restrict out, const double *restrict a, const double *restrict b,
		     size_t n)
{
	size_t i;

#pragma omp simd
	for (i = 0; i < n; i++)
		out[i] = a[i] > b[i] ? a[i] : b[i];
}

static void max_in_place(double *restrict out, const double *restrict a, size_t n)
{
	size_t i;

#pragma omp simd
	for (i = 0; i < n; i++)
		out[i] = out[i] > a[i] ? out[i] : a[i];
}

static void max_of_4(double *restrict out, const double *const *restrict in, size_t n)
{
	const double *restrict a = in[0], *restrict b = in[1];
	const double *restrict c = in[2], *restrict d = in[3];
	size_t i;

#pragma omp simd
	for (i = 0; i < n; i++) {
		double left = a[i] > b[i] ? a[i] : b[i], right = c[i] > d[i] ? c[i] : d[i];

		out[i] = left > right ? left : right;
	}
}

static void add_rows(double *restrict out, const double *restrict a, const double *restrict b,
		     size_t n)
{
	size_t i;

#pragma omp simd
	for (i = 0; i < n; i++)
		out[i] = a[i] + b[i];
}

static void add_constant(double *restrict out, const double *restrict a, double b, size_t n)
{
	size_t i;

#pragma omp simd
	for (i = 0; i < n; i++)
		out[i] = a[i] + b;
}

static void meet_over_dp(const struct pass *pass, double *lanes)
{
	size_t step, d, dp = pass->simulation->trace->job.dp;

	if (pass->whatif->alone) {
		if (dp > 1) {
			max_in_place(lanes, lanes + pass->n_lanes, pass->n_lanes);
			memcpy(lanes + pass->n_lanes, lanes, pass->n_lanes * sizeof(*lanes));
		}
		return;
	}
	for (step = 0; step < pass->steps; step++, lanes += dp) {
		double latest = lanes[0];

		for (d = 1; d < dp; d++)
			latest = lanes[d] > latest ? lanes[d] : latest;
		for (d = 0; d < dp; d++)
			lanes[d] = latest;
	}
}

/* When all members have started: the latest end of any dependency. */
static const double *find_meeting(const struct pass *pass, const struct graph_unit *unit)
{
	const uint32_t *deps = pass->simulation->graph->unit_deps + unit->first_dep;
	const double *in[4];
	size_t i, n = unit->n_deps;

	if (n == 1 && !unit->over_dp)
		return pass_row(pass, deps[0]);
	for (i = 0; i < MIN(n, ARRAY_SIZE(in)); i++)
		in[i] = pass_row(pass, deps[i]);
	if (n >= 3) {
		in[3] = n == 3 ? in[2] : in[3];
		max_of_4(pass->meeting, in, pass->n);
	} else if (n == 2) {
		max_of_2(pass->meeting, in[0], in[1], pass->n);
	} else if (n == 1) {
		memcpy(pass->meeting, in[0], pass->n * sizeof(double));
	} else {
		memset(pass->meeting, 0, pass->n * sizeof(double));
	}
	for (i = ARRAY_SIZE(in); i < n; i++)
		max_in_place(pass->meeting, pass_row(pass, deps[i]), pass->n);
	if (unit->over_dp && !pass->pairs)
		meet_over_dp(pass, pass->meeting);
	return pass->meeting;
}

/* Costs of a key with only some operations original. */
static const double *mixed_weights(const struct pass *pass, uint32_t key, const double *cost)
{
	const struct trace *trace = pass->simulation->trace;
	size_t first = key * trace->n_lanes + pass->first_lane, i;
	double ideal = pass->whatif->ideal[key];

	for (i = 0; i < pass->n_lanes; i++)
		pass->weights[i] = pass->whatif->cells[first + i] ? cost[i] : ideal;
	return pass->weights;
}

/* Compute the ends of the lanes of the set separately: by `cost`, or by `ideal` if that is NULL. */
static void end_set(const struct pass *pass, uint32_t key, const double *meeting,
		    const double *cost, double *out)
{
	const struct whatif_set *set = &pass->whatif->set;
	size_t stage = pass->simulation->trace->keys[key].stage,
	       dp = pass->simulation->trace->job.dp;
	double ideal = pass->whatif->ideal[key];
	uint32_t i;

	for (i = set->first[stage]; i < set->first[stage + 1]; i++) {
		size_t lane = set->ranks[i];

		for (; lane < pass->n_lanes; lane += dp)
			out[lane] = meeting[lane] + (cost ? cost[lane] : ideal);
	}
}

/* Compute the ends of the lanes of the set at the given pace. */
static void end_paced(const struct pass *pass, uint32_t key, const double *meeting,
		      const double *cost, double *out)
{
	const struct whatif_set *set = &pass->whatif->set;
	const struct trace_key *what = &pass->simulation->trace->keys[key];
	size_t dp = pass->simulation->trace->job.dp, lane;
	uint32_t i;

	for (i = set->first[what->stage]; i < set->first[what->stage + 1]; i++) {
		struct whatif_pace pace = pass->whatif->pace[i * OPTYPE_N + what->type];

		for (lane = set->ranks[i]; lane < pass->n_lanes; lane += dp)
			out[lane] = meeting[lane] + cost[lane] * pace.scale + pace.base;
	}
}

static void end_member(const struct pass *pass, uint32_t member, const double *meeting)
{
	const struct whatif *whatif = pass->whatif;
	const double *cost = pass->costs + member * pass->n_lanes;
	uint32_t key = pass->simulation->graph->members[member];
	enum whatif_choice choice = whatif->choices ? whatif->choices[key] : WHATIF_ORIGINAL;
	double *out = pass_row(pass, key);

	if (choice == WHATIF_IDEAL || choice == WHATIF_KEPT) {
		add_constant(out, meeting, whatif->ideal[key], pass->n);
		if (choice == WHATIF_KEPT)
			end_set(pass, key, meeting, cost, out);
		return;
	}
	if (choice == WHATIF_CELLS)
		cost = mixed_weights(pass, key, cost);
	add_rows(out, meeting, cost, pass->n_lanes);
	if (choice == WHATIF_MENDED)
		end_set(pass, key, meeting, NULL, out);
	if (choice == WHATIF_PACED)
		end_paced(pass, key, meeting, cost, out);
	if (whatif->alone)
		add_constant(out + pass->n_lanes, meeting + pass->n_lanes, whatif->ideal[key],
			     pass->n_lanes);
}

/* A member in the lanes of pairs: fixed ones cost `ideal`. */
static void end_pairs(const struct pass *pass, uint32_t member, const double *meeting)
{
	const struct trace *trace = pass->simulation->trace;
	const struct whatif_pairs *pairs = pass->pairs;
	uint32_t key = pass->simulation->graph->members[member];
	const bool *mended = pairs->mended + trace->keys[key].stage * pairs->n;
	const double *cost = pass->costs + member * pass->steps * trace->job.dp;
	double ideal = pass->whatif->ideal[key], *out = pass_row(pass, key);
	size_t step, j;

	for (step = 0; step < pass->steps; step++, cost += trace->job.dp) {
		for (j = 0; j < pairs->n; j++)
			pass->weights[j] = mended[j] ? ideal : cost[pairs->ranks[j]];
		add_rows(out + step * pairs->n, meeting + step * pairs->n, pass->weights, pairs->n);
	}
}

static void pass_times(const struct pass *pass)
{
	const struct graph *graph = pass->simulation->graph;
	size_t i, step, d, dp = pass->simulation->trace->job.dp;
	double *times = pass->whatif->times;

	memcpy(pass->latest, pass_row(pass, graph->last[0]), pass->n * sizeof(double));
	for (i = 1; i < graph->n_last; i++)
		max_in_place(pass->latest, pass_row(pass, graph->last[i]), pass->n);
	if (pass->whatif->alone) {
		if (dp > 1)
			max_in_place(pass->latest, pass->latest + pass->n_lanes, pass->n_lanes);
		memcpy(times + pass->first_lane, pass->latest, pass->n_lanes * sizeof(double));
		return;
	}
	times += pass->first_lane / dp;
	for (step = 0; step < pass->steps; step++) {
		const double *lanes = pass->latest + step * dp;

		times[step] = lanes[0];
		for (d = 1; d < dp; d++)
			times[step] = MAX(times[step], lanes[d]);
	}
}

static struct pass pass_of(const struct simulation *simulation, const struct whatif *whatif,
			   size_t block, double *room)
{
	size_t stride = row_stride(simulation), dp = simulation->trace->job.dp;
	size_t steps = steps_of(simulation, block);
	double *spare = room + simulation->graph->n_slots * stride;

	return (struct pass){
		.simulation = simulation,
		.whatif = whatif,
		.first_lane = block * simulation->block * dp,
		.n_lanes = steps * dp,
		.steps = steps,
		.n = steps * dp * (whatif->alone ? 2 : 1),
		.stride = stride,
		.costs = room + costs_at(simulation),
		.rows = room,
		.meeting = spare,
		.weights = spare + stride,
		.latest = spare + 2 * stride,
	};
}

static void pass_units(const struct pass *pass, size_t first, size_t end)
{
	const struct graph *graph = pass->simulation->graph;
	uint32_t member = first < end ? graph->units[first].first_member : 0;
	size_t i;

	for (i = first; i < end; i++) {
		const double *meeting = find_meeting(pass, &graph->units[i]);
		uint32_t last = graph->units[i].first_member + graph->units[i].n_members;

		for (; member < last; member++) {
			if (pass->pairs)
				end_pairs(pass, member, meeting);
			else
				end_member(pass, member, meeting);
		}
	}
}

void simulate(const struct simulation *simulation, const struct whatif *whatif, size_t block,
	      double *room)
{
	struct pass pass = pass_of(simulation, whatif, block, room);

	pass_units(&pass, 0, simulation->graph->n_units);
	pass_times(&pass);
}
