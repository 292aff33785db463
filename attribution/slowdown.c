/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/slowdown.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/crew.h"
#include "attribution/simulate.h"
#include "lib/base/err.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"

enum { WAVE_MAX = 4096 };

struct wave {
	const struct trace *trace;
	struct simulation simulation;
	size_t n_threads;
	const double *ideal; /* [key] */
	struct whatif *list; /* WAVE_MAX */
	size_t n;
	double *room; /* of all threads */
	struct pool pool;
};

/*
 * What is as it was in a simulation, and what costs what it should. The context of
 * wave_add_set() is the struct wave_stages below.
 */
typedef enum whatif_choice wave_rule(const struct trace_key *key, const void *context);

struct wave_stages {
	const struct whatif_set *set;
	uint32_t last; /* stage */
};

/* Like wave_add(), for a rule with WHATIF_MENDED or WHATIF_KEPT: of these workers, [d * pp + stage]. */
static const double *wave_add_set(struct wave *wave, wave_rule *rule, const uint32_t *workers,
				  size_t n);
/* The newest simulation, to change before it runs. */
static struct whatif *wave_newest(struct wave *wave);
/* Run all that were added. Their times stay until the wave is released. */
static void wave_run(struct wave *wave);
/*
 * The same for sets that are mended, whose DP ranks are the pairs: in less time where DP
 * ranks meet late in a step.
 */
static void wave_run_mended(struct wave *wave, const struct whatif_pairs *pairs);
static double mean_time(const double *times, size_t n);
/* The share of the loss that is gone when a step takes `time`; NAN when there is none. */
static double slowdown_share(const struct slowdown *slowdown, double time);

/* Who is to blame: the workers W and X, the last stage, the nodes. */

/* Of all workers this many are the slowest, in percent, rounded up. */
enum { TOP_PERCENT = 3 };

/* Nodes are simulated together as long as they have fewer workers: what they need is kept as long. */
enum { WORKERS_AT_ONCE = 1024 };

/* S_w that differ by less are the same. */
#define SAME_SLOWDOWN 1e9

/* A worker is in X that alone explains this much of S - 1. */
#define X_SHARE 0.5

struct ranked {
	double slowdown;
	int32_t rank;
	uint32_t worker;
};

static int by_slowdown(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;

	if (left->slowdown != right->slowdown)
		return left->slowdown > right->slowdown ? -1 : 1;
	return (left->rank > right->rank) - (left->rank < right->rank);
}

static void find_top(const struct trace *trace, struct slowdown *slowdown)
{
	size_t i, n = (size_t)trace->job.dp * trace->job.pp;
	CLEANUP(freep) struct ranked *ranked = xcalloc(n, sizeof(*ranked));
	struct guilty_set *top = &slowdown->top;

	for (i = 0; i < n; i++)
		ranked[i] = (struct ranked){
			.slowdown = nearbyint(slowdown->workers[i] * SAME_SLOWDOWN),
			.rank = trace->job.workers[i].rank,
			.worker = (uint32_t)i,
		};
	qsort(ranked, n, sizeof(*ranked), by_slowdown);
	top->n = (TOP_PERCENT * n + 99) / 100;
	top->workers = xcalloc(top->n, sizeof(*top->workers));
	for (i = 0; i < top->n; i++)
		top->workers[i] = ranked[i].worker;
}

static void find_x(const struct trace *trace, struct slowdown *slowdown)
{
	size_t i, stage, d, n = (size_t)trace->job.dp * trace->job.pp, pp = trace->job.pp;
	CLEANUP(freep) bool *in = xcalloc(n, sizeof(*in));
	struct guilty_set *x = &slowdown->x;

	x->workers = xcalloc(n, sizeof(*x->workers));
	for (i = 0; i < n && slowdown->measurable; i++) {
		in[i] = slowdown->exact[i] - 1 >= X_SHARE * (slowdown->s - 1);
		if (in[i])
			x->workers[x->n++] = (uint32_t)i;
	}
	for (stage = 0; stage < pp; stage++) {
		for (d = 0; d < trace->job.dp && in[d * pp + stage]; d++)
			;
		if (d == trace->job.dp)
			slowdown->x_whole_stage = true;
	}
}

/* Is any worker of the set on the stage of this key? */
static bool is_on_stage(const struct wave_stages *stages, const struct trace_key *key)
{
	return stages->set->first[key->stage + 1] > stages->set->first[key->stage];
}

static enum whatif_choice mend_workers(const struct trace_key *key, const void *context)
{
	return is_on_stage(context, key) ? WHATIF_MENDED : WHATIF_ORIGINAL;
}

static enum whatif_choice mend_computes(const struct trace_key *key, const void *context)
{
	return optype_is_communication(key->type) ? WHATIF_ORIGINAL : mend_workers(key, context);
}

static enum whatif_choice keep_workers(const struct trace_key *key, const void *context)
{
	return is_on_stage(context, key) ? WHATIF_KEPT : WHATIF_IDEAL;
}

/* The last stage without the set. */
static enum whatif_choice keep_last_stage(const struct trace_key *key, const void *context)
{
	const struct wave_stages *stages = context;

	return key->stage == stages->last ? WHATIF_MENDED : WHATIF_IDEAL;
}

/* The simulations of a set, and where their answers go. */
struct set_times {
	const double *mended, *computes, *kept, *last_stage;
};

static struct set_times add_set(struct wave *wave, const struct guilty_set *set)
{
	return (struct set_times){
		.mended = wave_add_set(wave, mend_workers, set->workers, set->n),
		.computes = wave_add_set(wave, mend_computes, set->workers, set->n),
		.kept = wave_add_set(wave, keep_workers, set->workers, set->n),
		.last_stage = wave_add_set(wave, keep_last_stage, set->workers, set->n),
	};
}

static void take_set(const struct slowdown *slowdown, const struct set_times *times, size_t n,
		     struct guilty_set *set)
{
	set->share = slowdown_share(slowdown, mean_time(times->mended, n));
	set->share_compute = slowdown_share(slowdown, mean_time(times->computes, n));
}

/* W and X, who is to blame. -ENOMEM. */
static void slowdown_find_sets(const struct trace *trace, struct wave *wave,
			       struct slowdown *slowdown)
{
	size_t n = trace->n_steps;
	struct set_times top, x;
	struct remedy *remedy = &slowdown->top_remedy;

	find_top(trace, slowdown);
	find_x(trace, slowdown);
	top = add_set(wave, &slowdown->top);
	x = add_set(wave, &slowdown->x);
	wave_run(wave);
	take_set(slowdown, &top, n, &slowdown->top);
	take_set(slowdown, &x, n, &slowdown->x);
	if (slowdown->x.n == 0)
		slowdown->x.share = slowdown->x.share_compute = NAN;
	remedy->time_without = mean_time(top.mended, n);
	remedy->time_only = mean_time(top.kept, n);
	remedy->share_without = slowdown->top.share;
	remedy->share_only = 1 - slowdown_share(slowdown, remedy->time_only);
	slowdown->stage_beside_top =
		trace->job.pp > 1 ? 1 - slowdown_share(slowdown, mean_time(top.last_stage, n))
				  : NAN;
}

/* The workers of each node: those of node i are workers[first[i]] to workers[first[i + 1] - 1],
 * ascending. */
struct by_node {
	uint32_t *first, *workers;
};

static void by_node_release(struct by_node *nodes)
{
	free(nodes->first);
	free(nodes->workers);
}

static struct by_node sort_by_node(const struct trace_job *job)
{
	uint32_t n = job->dp * job->pp, i;
	struct by_node nodes = { xcalloc(job->n_nodes + 2, sizeof(uint32_t)),
				 xcalloc(n, sizeof(uint32_t)) };

	for (i = 0; i < n; i++)
		nodes.first[job->workers[i].node + 2]++;
	for (i = 0; i < job->n_nodes; i++)
		nodes.first[i + 2] += nodes.first[i + 1];
	for (i = 0; i < n; i++)
		nodes.workers[nodes.first[job->workers[i].node + 1]++] = i;
	return nodes;
}

/* The pairs of some nodes in a row, in memory of the wave. */
static struct whatif_pairs pairs_of(struct wave *wave, const struct by_node *nodes, uint32_t node,
				    uint32_t n_nodes)
{
	size_t pp = wave->trace->job.pp;
	uint32_t begin = nodes->first[node], end = nodes->first[node + n_nodes], i, set = 0, n = 0;
	uint32_t *first = pool_take(&wave->pool, (n_nodes + 1) * sizeof(*first));
	uint32_t *ranks = pool_take(&wave->pool, (end - begin) * sizeof(*ranks));
	uint32_t *pair = pool_take(&wave->pool, (end - begin) * sizeof(*pair));
	bool *mended;

	for (i = begin; i < end; i++) {
		uint32_t rank = nodes->workers[i] / (uint32_t)pp;

		while (set < n_nodes && nodes->first[node + set] == i)
			first[set++] = n;
		if (first[set - 1] == n || ranks[n - 1] != rank)
			ranks[n++] = rank;
		pair[i - begin] = n - 1;
	}
	first[n_nodes] = n;
	mended = pool_take(&wave->pool, pp * n);
	for (i = begin; i < end; i++)
		mended[nodes->workers[i] % pp * n + pair[i - begin]] = true;
	return (struct whatif_pairs){ n_nodes, n, first, ranks, mended };
}

/* What mending each node gives. */
static void slowdown_find_nodes(const struct trace *trace, struct wave *wave,
				struct slowdown *slowdown)
{
	const struct trace_job *job = &trace->job;
	CLEANUP(freep) const double **times = xcalloc(job->n_nodes, sizeof(*times));
	CLEANUP(by_node_release) struct by_node nodes = sort_by_node(job);
	uint32_t i, j;

	for (i = 0; i < job->n_nodes; i = j) {
		struct whatif_pairs pairs;

		for (j = i; j < job->n_nodes && nodes.first[j] < nodes.first[i] + WORKERS_AT_ONCE &&
			    j - i < WAVE_MAX;
		     j++)
			times[j] = wave_add_set(wave, mend_workers, nodes.workers + nodes.first[j],
						nodes.first[j + 1] - nodes.first[j]);
		pairs = pairs_of(wave, &nodes, i, j - i);
		wave_run_mended(wave, &pairs);
	}
	slowdown->node_times = xcalloc(job->n_nodes, sizeof(double));
	slowdown->node_shares = xcalloc(job->n_nodes, sizeof(double));
	for (i = 0; i < job->n_nodes; i++) {
		slowdown->node_times[i] = mean_time(times[i], trace->n_steps);
		slowdown->node_shares[i] = slowdown_share(slowdown, slowdown->node_times[i]);
		if (slowdown->node_times[i] < slowdown->node_times[slowdown->top_node])
			slowdown->top_node = i;
	}
}

/* -ENOMEM. */
static int wave_open(struct wave *wave, const struct trace *trace, const struct graph *graph,
		     const struct cost *cost, size_t n_threads, struct err *err)
{
	double *ideal;
	size_t i;

	*wave = (struct wave){ .trace = trace, .n_threads = n_threads };
	wave->simulation = simulation_of(trace, graph, cost->value, n_threads);
	wave->list = xcalloc(WAVE_MAX, sizeof(*wave->list));
	wave->room = calloc(simulation_room(&wave->simulation) * n_threads, sizeof(*wave->room));
	if (!wave->room)
		return err_set(err, ENOMEM, "no memory to simulate %zu operations",
			       trace->n_keys * trace->n_lanes);
	ideal = pool_take(&wave->pool, trace->n_keys * sizeof(*ideal));
	for (i = 0; i < trace->n_keys; i++)
		ideal[i] = cost->ideal[trace->keys[i].type];
	wave->ideal = ideal;
	return 0;
}

static void wave_release(struct wave *wave)
{
	free(wave->list);
	free(wave->room);
	pool_release(&wave->pool);
}

static const double *add(struct wave *wave, wave_rule *rule, const void *context, bool alone)
{
	const struct trace *trace = wave->trace;
	uint8_t *choices = pool_take(&wave->pool, trace->n_keys);
	size_t i;

	if (wave->n == WAVE_MAX)
		wave_run(wave);
	for (i = 0; i < trace->n_keys; i++)
		choices[i] = (uint8_t)rule(&trace->keys[i], context);
	wave->list[wave->n] = (struct whatif){
		.choices = choices,
		.ideal = wave->ideal,
		.alone = alone,
		.times = pool_take(&wave->pool,
				   (alone ? trace->n_lanes : trace->n_steps) * sizeof(double)),
	};
	return wave->list[wave->n++].times;
}

/* One more simulation, run by wave_run(); its times are those of the steps. Borrowed. */
static const double *wave_add(struct wave *wave, wave_rule *rule, const void *context)
{
	return add(wave, rule, context, false);
}

/* The same for each DP rank alone: its times are [step * dp + d]. */
static const double *wave_add_alone(struct wave *wave, wave_rule *rule, const void *context)
{
	return add(wave, rule, context, true);
}

static struct whatif_set set_of(struct wave *wave, const uint32_t *workers, size_t n)
{
	size_t pp = wave->trace->job.pp, i, stage;
	uint32_t *first = pool_take(&wave->pool, (pp + 1) * sizeof(*first));
	uint32_t *ranks = pool_take(&wave->pool, (n + 1) * sizeof(*ranks));
	uint32_t *at = pool_take(&wave->pool, pp * sizeof(*at));

	for (i = 0; i < n; i++)
		first[workers[i] % pp + 1]++;
	for (stage = 0; stage < pp; stage++) {
		first[stage + 1] += first[stage];
		at[stage] = first[stage];
	}
	for (i = 0; i < n; i++)
		ranks[at[workers[i] % pp]++] = workers[i] / (uint32_t)pp;
	return (struct whatif_set){ first, ranks };
}

static const double *wave_add_set(struct wave *wave, wave_rule *rule, const uint32_t *workers,
				  size_t n)
{
	struct whatif_set set = set_of(wave, workers, n);
	struct wave_stages stages = { &set, wave->trace->job.pp - 1 };
	const double *times = wave_add(wave, rule, &stages);

	wave_newest(wave)->set = set;
	return times;
}

static struct whatif *wave_newest(struct wave *wave)
{
	return &wave->list[wave->n - 1];
}

/* All simulations over one block of steps: their costs are read from memory once. */
static void run_block(void *context, size_t block, size_t thread)
{
	const struct wave *wave = context;
	double *room = wave->room + thread * simulation_room(&wave->simulation);
	size_t i;

	simulate_load(&wave->simulation, block, room);
	for (i = 0; i < wave->n; i++)
		simulate(&wave->simulation, &wave->list[i], block, room);
}

static void wave_run(struct wave *wave)
{
	crew_run(wave->n_threads, simulation_blocks(&wave->simulation), run_block, wave);
	wave->n = 0;
}

/* A wave of mended sets while it runs. */
struct mending {
	const struct wave *wave;
	const struct whatif_pairs *pairs;
	double *room; /* of all threads */
	size_t room_size;
};

static void mend_block(void *context, size_t block, size_t thread)
{
	const struct mending *mending = context;
	const struct wave *wave = mending->wave;
	double *room = mending->room + thread * mending->room_size;

	simulate_load(&wave->simulation, block, room);
	simulate_mended(&wave->simulation, wave->list, mending->pairs, block, room);
}

static void wave_run_mended(struct wave *wave, const struct whatif_pairs *pairs)
{
	const struct graph *graph = wave->simulation.graph;
	size_t size = simulation_mended_room(&wave->simulation, pairs->n);
	CLEANUP(freep) double *room = calloc(size * wave->n_threads, sizeof(*room));
	struct mending mending = { wave, pairs, room, size };

	if (!room || graph->n_early * 2 < graph->n_units) {
		wave_run(wave);
		return;
	}
	crew_run(wave->n_threads, simulation_blocks(&wave->simulation), mend_block, &mending);
	wave->n = 0;
}

static double mean_time(const double *times, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += times[i];
	return sum / (double)n;
}

static double slowdown_share(const struct slowdown *slowdown, double time)
{
	if (!slowdown->measurable)
		return NAN;
	return (slowdown->simulated - time) / (slowdown->simulated - slowdown->ideal);
}

/* A loss below this part of T_ideal is none. */
#define LEAST_LOSS 1e-9

enum optype slowdown_type(enum optype type)
{
	enum optype first = 0;

	while (!streq(optype_reported(first), optype_reported(type)))
		first++;
	return first;
}

static enum whatif_choice all_original(const struct trace_key *key UNUSED,
				       const void *context UNUSED)
{
	return WHATIF_ORIGINAL;
}

static enum whatif_choice all_ideal(const struct trace_key *key UNUSED, const void *context UNUSED)
{
	return WHATIF_IDEAL;
}

static enum whatif_choice only_type(const struct trace_key *key, const void *context)
{
	const enum optype *type = context;

	return slowdown_type(key->type) == *type ? WHATIF_ORIGINAL : WHATIF_IDEAL;
}

static enum whatif_choice only_stage(const struct trace_key *key, const void *context)
{
	const size_t *stage = context;

	return key->stage == *stage ? WHATIF_ORIGINAL : WHATIF_IDEAL;
}

static enum whatif_choice all_but_stage(const struct trace_key *key, const void *context)
{
	const size_t *stage = context;

	return key->stage == *stage ? WHATIF_IDEAL : WHATIF_ORIGINAL;
}

static enum whatif_choice mend_communication(const struct trace_key *key, const void *context UNUSED)
{
	return optype_is_communication(key->type) ? WHATIF_IDEAL : WHATIF_ORIGINAL;
}

static enum whatif_choice mend_compute(const struct trace_key *key, const void *context UNUSED)
{
	return optype_is_compute(key->type) ? WHATIF_IDEAL : WHATIF_ORIGINAL;
}

/* `context` is the table of keys and what to look up in it. */
struct pauses {
	const struct trace *trace;
	const bool *has_pause;
};

static enum whatif_choice mend_pauses(const struct trace_key *key, const void *context)
{
	const struct pauses *pauses = context;

	return pauses->has_pause[key - pauses->trace->keys] ? WHATIF_CELLS : WHATIF_ORIGINAL;
}

/* How long each step took in the trace. */
static void find_recorded(const struct trace *trace, struct slowdown *slowdown)
{
	size_t key, step, d, dp = trace->job.dp;

	slowdown->step_recorded = xcalloc(trace->n_steps, sizeof(double));
	for (key = 0; key < trace->n_keys; key++) {
		const double *start = trace_row(trace, trace->start, key);
		const double *duration = trace_row(trace, trace->duration, key);

		for (step = 0; step < trace->n_steps; step++) {
			double latest = slowdown->step_recorded[step];

			for (d = 0; d < dp; d++) {
				double end = start[step * dp + d] + duration[step * dp + d];

				latest = end > latest ? end : latest;
			}
			slowdown->step_recorded[step] = latest;
		}
	}
	slowdown->recorded = mean_time(slowdown->step_recorded, trace->n_steps);
}

/* The simulations that need nothing but the trace. */
struct first_wave {
	const double *original, *ideal, *types[OPTYPE_N], *dp, *comm, *levelled, *pauses,
		*all_but_last;
	const double **pp, **exact; /* [stage]; owned */
};

static void first_wave_release(struct first_wave *first)
{
	free(first->pp);
	free(first->exact);
}

static void add_first(struct wave *wave, const struct cost *cost, const struct slowdown *slowdown,
		      struct first_wave *first)
{
	const struct trace *trace = wave->trace;
	const struct balance *balance = &slowdown->balance;
	const struct pauses pauses = { trace, balance->has_pause };
	size_t stage, last = trace->job.pp - 1;
	enum optype type;

	first->original = wave_add(wave, all_original, NULL);
	first->ideal = wave_add(wave, all_ideal, NULL);
	for (type = 0; type < OPTYPE_N; type++) {
		if (cost->has[type] && !first->types[slowdown_type(type)]) {
			enum optype reported = slowdown_type(type);

			first->types[reported] = wave_add(wave, only_type, &reported);
		}
	}
	first->dp = wave_add_alone(wave, all_original, NULL);
	first->pp = xcalloc(trace->job.pp, sizeof(*first->pp));
	first->exact = xcalloc(trace->job.pp, sizeof(*first->exact));
	for (stage = 0; stage < trace->job.pp; stage++) {
		first->pp[stage] = wave_add(wave, only_stage, &stage);
		first->exact[stage] = wave_add_alone(wave, only_stage, &stage);
	}
	first->all_but_last = wave_add(wave, all_but_stage, &last);
	first->comm = wave_add(wave, mend_communication, NULL);
	first->levelled = wave_add(wave, mend_compute, NULL);
	wave_newest(wave)->ideal = balance->level;
	if (balance->n_pauses) {
		first->pauses = wave_add(wave, mend_pauses, &pauses);
		wave_newest(wave)->cells = balance->original;
	}
}

static double *copy_of(const double *values, size_t n)
{
	double *copy = xcalloc(n, sizeof(*copy));

	memcpy(copy, values, n * sizeof(*copy));
	return copy;
}

/* S of each DP rank from the times of its steps. */
static double mean_of_rank(const double *times, const struct trace *trace, size_t d)
{
	double sum = 0;
	size_t step;

	for (step = 0; step < trace->n_steps; step++)
		sum += times[step * trace->job.dp + d];
	return sum / (double)trace->n_steps;
}

static void take_parts(const struct trace *trace, const struct first_wave *first,
		       struct slowdown *slowdown)
{
	size_t n = trace->n_steps, dp = trace->job.dp, pp = trace->job.pp, d, stage;
	enum optype type;

	slowdown->step_types = xcalloc(OPTYPE_N * n, sizeof(double));
	for (type = 0; type < OPTYPE_N; type++) {
		slowdown->types[type] = NAN;
		if (!first->types[type])
			continue;
		memcpy(slowdown->step_types + type * n, first->types[type], n * sizeof(double));
		slowdown->types[type] = mean_time(first->types[type], n) / slowdown->ideal;
	}
	slowdown->step_dp = copy_of(first->dp, trace->n_lanes);
	slowdown->step_pp = xcalloc(pp * n, sizeof(double));
	slowdown->dp = xcalloc(dp, sizeof(double));
	slowdown->pp = xcalloc(pp, sizeof(double));
	slowdown->workers = xcalloc(dp * pp, sizeof(double));
	slowdown->exact = xcalloc(dp * pp, sizeof(double));
	for (d = 0; d < dp; d++)
		slowdown->dp[d] = mean_of_rank(first->dp, trace, d) / slowdown->ideal;
	for (stage = 0; stage < pp; stage++) {
		memcpy(slowdown->step_pp + stage * n, first->pp[stage], n * sizeof(double));
		slowdown->pp[stage] = mean_time(first->pp[stage], n) / slowdown->ideal;
		for (d = 0; d < dp; d++) {
			slowdown->workers[d * pp + stage] =
				MIN(slowdown->dp[d], slowdown->pp[stage]);
			slowdown->exact[d * pp + stage] =
				mean_of_rank(first->exact[stage], trace, d) / slowdown->ideal;
		}
	}
}

static void take_shares(const struct trace *trace, const struct first_wave *first,
			struct slowdown *slowdown)
{
	size_t n = trace->n_steps;
	struct remedy *last = &slowdown->last_stage;

	slowdown->comm = slowdown_share(slowdown, mean_time(first->comm, n));
	slowdown->levelled = slowdown_share(slowdown, mean_time(first->levelled, n));
	slowdown->pauses = first->pauses ? slowdown_share(slowdown, mean_time(first->pauses, n))
					 : NAN;
	last->time_without = last->time_only = last->share_without = last->share_only = NAN;
	if (trace->job.pp == 1)
		return;
	last->time_without = mean_time(first->all_but_last, n);
	last->time_only = mean_time(first->pp[trace->job.pp - 1], n);
	last->share_without = slowdown_share(slowdown, last->time_without);
	last->share_only = 1 - slowdown_share(slowdown, last->time_only);
}

static void take_first(const struct trace *trace, const struct first_wave *first,
		       struct slowdown *slowdown)
{
	size_t n = trace->n_steps;

	slowdown->step_simulated = copy_of(first->original, n);
	slowdown->simulated = mean_time(first->original, n);
	slowdown->ideal = mean_time(first->ideal, n);
	slowdown->s = slowdown->simulated / slowdown->ideal;
	slowdown->measurable = slowdown->simulated - slowdown->ideal > LEAST_LOSS * slowdown->ideal;
	slowdown->discrepancy = fabs(slowdown->simulated - slowdown->recorded) / slowdown->recorded;
	take_parts(trace, first, slowdown);
	take_shares(trace, first, slowdown);
}

int slowdown_find(const struct trace *trace, const struct graph *graph, const struct cost *cost,
		  size_t n_threads, struct slowdown *ret_slowdown, struct err *err)
{
	CLEANUP(slowdown_release) struct slowdown slowdown = { 0 };
	CLEANUP(first_wave_release) struct first_wave first = { 0 };
	CLEANUP(wave_release) struct wave wave = { 0 };
	int r;

	r = balance_find(trace, &slowdown.balance, err);
	if (r == 0)
		r = wave_open(&wave, trace, graph, cost, n_threads, err);
	if (r < 0)
		return r;
	find_recorded(trace, &slowdown);
	add_first(&wave, cost, &slowdown, &first);
	wave_run(&wave);
	take_first(trace, &first, &slowdown);
	slowdown_find_sets(trace, &wave, &slowdown);
	slowdown_find_nodes(trace, &wave, &slowdown);
	*ret_slowdown = slowdown;
	slowdown = (struct slowdown){ 0 };
	return 0;
}

void slowdown_release(struct slowdown *slowdown)
{
	free(slowdown->dp);
	free(slowdown->pp);
	free(slowdown->workers);
	free(slowdown->exact);
	free(slowdown->step_recorded);
	free(slowdown->step_simulated);
	free(slowdown->step_types);
	free(slowdown->step_dp);
	free(slowdown->step_pp);
	free(slowdown->top.workers);
	free(slowdown->x.workers);
	free(slowdown->node_times);
	free(slowdown->node_shares);
	balance_release(&slowdown->balance);
	*slowdown = (struct slowdown){ 0 };
}
