/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/slowdown.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/trace_job.h"
#include "attribution/wave.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Share of the loss that disappears if a step takes `time`; NAN if there is no loss. */
static double slowdown_share(const struct slowdown *slowdown, double time);

static double *copy_of(const double *values, size_t n)
{
	double *copy = xcalloc(n, sizeof(*copy));

	memcpy(copy, values, n * sizeof(*copy));
	return copy;
}

/* Blame: the workers W and X, the last stage, the nodes. */

/* Percentage of workers in W, the slowest ones, rounded up. */
enum { TOP_PERCENT = 3 };

/* Nodes are simulated in batches with at most this many workers, which bounds memory. */
enum { WORKERS_AT_ONCE = 1024 };

/* S_w is rounded to multiples of 1 / SAME_SLOWDOWN, so that almost equal ones tie. */
#define SAME_SLOWDOWN 1e9

/* X has the workers that alone explain this share of S - 1. */
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

/* Is a worker of the set on this key's stage? */
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

/* The last stage except the set. */
static enum whatif_choice keep_last_stage(const struct trace_key *key, const void *context)
{
	const struct wave_stages *stages = context;

	return key->stage == stages->last ? WHATIF_MENDED : WHATIF_IDEAL;
}

/* The simulations of a set, and where to store their results. */
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
	set->share = slowdown_share(slowdown, wave_mean(times->mended, n));
	set->share_compute = slowdown_share(slowdown, wave_mean(times->computes, n));
}

/* Find W and X. -ENOMEM. */
static void slowdown_find_sets(const struct trace *trace, struct wave *wave,
			       struct slowdown *slowdown)
{
	size_t n = trace->n_steps;
	struct set_times top, x;
	struct set_effect *remedy = &slowdown->top_remedy;

	find_top(trace, slowdown);
	find_x(trace, slowdown);
	top = add_set(wave, &slowdown->top);
	x = add_set(wave, &slowdown->x);
	wave_run(wave);
	take_set(slowdown, &top, n, &slowdown->top);
	take_set(slowdown, &x, n, &slowdown->x);
	slowdown->step_fixed[FIX_TOP] = copy_of(top.mended, n);
	if (slowdown->x.n)
		slowdown->step_fixed[FIX_X] = copy_of(x.mended, n);
	if (slowdown->x.n == 0)
		slowdown->x.share = slowdown->x.share_compute = NAN;
	remedy->time_without = wave_mean(top.mended, n);
	remedy->time_only = wave_mean(top.kept, n);
	remedy->share_without = slowdown->top.share;
	remedy->share_only = 1 - slowdown_share(slowdown, remedy->time_only);
	slowdown->stage_beside_top =
		trace->job.pp > 1 ? 1 - slowdown_share(slowdown, wave_mean(top.last_stage, n))
				  : NAN;
}

/*
 * Workers grouped by node: those of node i are workers[first[i]] to workers[first[i + 1] - 1],
 * ascending.
 */
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

/* The pairs of consecutive nodes, in memory of the wave. */
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

/* The effect of fixing each node. */
static void find_nodes(const struct trace *trace, struct wave *wave, struct slowdown *slowdown)
{
	const struct trace_job *job = &trace->job;
	CLEANUP(freep) const double **times = xcalloc(job->n_nodes, sizeof(*times));
	CLEANUP(by_node_release) struct by_node nodes = sort_by_node(job);
	uint32_t i, j, top = 0;

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
		slowdown->node_times[i] = wave_mean(times[i], trace->n_steps);
		slowdown->node_shares[i] = slowdown_share(slowdown, slowdown->node_times[i]);
		if (slowdown->node_times[i] < slowdown->node_times[top])
			top = i;
	}
	if (!slowdown->measurable ||
	    slowdown->simulated - slowdown->node_times[top] <= BALANCE_RESOLUTION)
		return;
	slowdown->top_node = top;
	slowdown->step_fixed[FIX_NODE] = copy_of(times[top], trace->n_steps);
}

static double slowdown_share(const struct slowdown *slowdown, double time)
{
	if (!slowdown->measurable)
		return NAN;
	return (slowdown->simulated - time) / (slowdown->simulated - slowdown->ideal);
}

/* Losses below this share of T_ideal are ignored. */
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

/* Recorded duration of each step. */
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
	slowdown->recorded = wave_mean(slowdown->step_recorded, trace->n_steps);
}

/* The simulations that depend only on the trace. */
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

/* S of each DP rank from its step times. */
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
		slowdown->types[type] = wave_mean(first->types[type], n) / slowdown->ideal;
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
		slowdown->pp[stage] = wave_mean(first->pp[stage], n) / slowdown->ideal;
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
	struct set_effect *last = &slowdown->last_stage;

	slowdown->comm = slowdown_share(slowdown, wave_mean(first->comm, n));
	slowdown->levelled = slowdown_share(slowdown, wave_mean(first->levelled, n));
	slowdown->pauses = first->pauses ? slowdown_share(slowdown, wave_mean(first->pauses, n))
					 : NAN;
	slowdown->step_fixed[FIX_COMM] = copy_of(first->comm, n);
	slowdown->step_fixed[FIX_LEVELLED] = copy_of(first->levelled, n);
	if (first->pauses)
		slowdown->step_fixed[FIX_PAUSES] = copy_of(first->pauses, n);
	last->time_without = last->time_only = last->share_without = last->share_only = NAN;
	if (trace->job.pp == 1)
		return;
	slowdown->step_fixed[FIX_LAST_STAGE] = copy_of(first->all_but_last, n);
	last->time_without = wave_mean(first->all_but_last, n);
	last->time_only = wave_mean(first->pp[trace->job.pp - 1], n);
	last->share_without = slowdown_share(slowdown, last->time_without);
	last->share_only = 1 - slowdown_share(slowdown, last->time_only);
}

static void take_first(const struct trace *trace, const struct first_wave *first,
		       struct slowdown *slowdown)
{
	size_t n = trace->n_steps;

	slowdown->step_simulated = copy_of(first->original, n);
	slowdown->simulated = wave_mean(first->original, n);
	slowdown->ideal = wave_mean(first->ideal, n);
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
	slowdown.top_node = -1;
	*ret_slowdown = slowdown;
	slowdown = (struct slowdown){ 0 };
	return 0;
}

int slowdown_find_nodes(const struct trace *trace, const struct graph *graph,
			const struct cost *cost, size_t n_threads, struct slowdown *slowdown,
			struct err *err)
{
	CLEANUP(wave_release) struct wave wave = { 0 };
	int r = wave_open(&wave, trace, graph, cost, n_threads, err);

	if (r < 0)
		return r;
	find_nodes(trace, &wave, slowdown);
	return 0;
}

void slowdown_release(struct slowdown *slowdown)
{
	size_t i;

	for (i = 0; i < FIX_N; i++)
		free(slowdown->step_fixed[i]);
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
