/* SPDX-License-Identifier: Apache-2.0 */
/* Who is to blame: the workers W and X, the last stage, the nodes. */
#include <math.h>
#include <stdlib.h>

#include "attribution/slowdown_inside.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

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

void slowdown_find_sets(const struct trace *trace, struct wave *wave, struct slowdown *slowdown)
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

void slowdown_find_nodes(const struct trace *trace, struct wave *wave, struct slowdown *slowdown)
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
