/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/graph.h"

#include <stdlib.h>

#include "attribution/graph_draft.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* The operations of two types merged by start, in `scratch`. */
static struct draft_list both(struct draft *draft, size_t stage, enum optype a, enum optype b)
{
	struct draft_list one = draft_list(draft, stage, a), other = draft_list(draft, stage, b);
	size_t i, n = 0;

	for (i = 0; i < one.n; i++)
		draft->scratch[n++] = one.keys[i];
	for (i = 0; i < other.n; i++)
		draft->scratch[n++] = other.keys[i];
	draft_sort(draft, draft->scratch, n);
	return (struct draft_list){ draft->scratch, n };
}

/* R1, R2 and R4: the sequence of a stage's operations. */
static void chain_stage(struct draft *draft, size_t stage)
{
	static const enum optype p2p[] = { OP_FORWARD_RECV, OP_FORWARD_SEND, OP_BACKWARD_RECV,
					   OP_BACKWARD_SEND };
	struct draft_list computes = both(draft, stage, OP_FORWARD_COMPUTE, OP_BACKWARD_COMPUTE);
	size_t i;

	draft_chain(draft, computes);
	for (i = 0; i < ARRAY_SIZE(p2p); i++)
		draft_chain(draft, draft_list(draft, stage, p2p[i]));
	for (i = 0; i < computes.n; i++) {
		if (draft->trace->keys[computes.keys[i]].type == OP_BACKWARD_COMPUTE)
			break;
	}
	if (i < 2 || i == computes.n)
		return;
	if (draft_list(draft, stage, OP_BACKWARD_RECV).n)
		draft_edge(draft, computes.keys[i - 2],
			   draft_list(draft, stage, OP_BACKWARD_RECV).keys[0]);
	if (draft_list(draft, stage, OP_BACKWARD_SEND).n)
		draft_edge(draft, computes.keys[i - 2],
			   draft_list(draft, stage, OP_BACKWARD_SEND).keys[0]);
}

/* The first (last) key of the list in the chunk; NULL if there is none. */
static const uint32_t *of_chunk(const struct draft *draft, struct draft_list list, int mc, bool last)
{
	size_t i;

	for (i = 0; i < list.n; i++) {
		const uint32_t *key = &list.keys[last ? list.n - 1 - i : i];

		if (MAX(draft->trace->keys[*key].mc, 0) == mc)
			return key;
	}
	return NULL;
}

/* R6: parameters arrive before a chunk is used, and gradients are sent after it. */
static void chain_dp(struct draft *draft, size_t stage, bool overlap)
{
	struct draft_list gathers = draft_list(draft, stage, OP_PARAMS_ALL_GATHER);
	struct draft_list scatters = draft_list(draft, stage, OP_GRADS_REDUCE_SCATTER);
	struct draft_list forward = draft_list(draft, stage, OP_FORWARD_COMPUTE);
	struct draft_list backward = draft_list(draft, stage, OP_BACKWARD_COMPUTE);
	const uint32_t *from, *to;
	int mc;

	draft_chain(draft, both(draft, stage, OP_PARAMS_ALL_GATHER, OP_GRADS_REDUCE_SCATTER));
	for (mc = 0; mc < (int)draft->trace->job.vpp; mc++) {
		from = of_chunk(draft, gathers, mc, true);
		to = of_chunk(draft, forward, mc, false);
		if (from && to)
			draft_edge(draft, *from, *to);
		from = of_chunk(draft, backward, mc, true);
		to = of_chunk(draft, scatters, mc, false);
		if (overlap && from && to)
			draft_edge(draft, *from, *to);
	}
}

/* Chain the operations of a type after `last`; returns the new last one. */
static const uint32_t *then(struct draft *draft, const uint32_t *last, size_t stage,
			    enum optype type)
{
	struct draft_list list = draft_list(draft, stage, type);

	if (list.n == 0)
		return last;
	if (last)
		draft_edge(draft, *last, list.keys[0]);
	draft_chain(draft, list);
	return &list.keys[list.n - 1];
}

/* The compute that ends last; NULL if there is none. */
static const uint32_t *last_compute(const struct draft *draft, size_t stage)
{
	static const enum optype computes[] = { OP_FORWARD_COMPUTE, OP_BACKWARD_COMPUTE };
	const uint32_t *last = NULL;
	size_t i, t;

	for (t = 0; t < ARRAY_SIZE(computes); t++) {
		struct draft_list list = draft_list(draft, stage, computes[t]);

		for (i = 0; i < list.n; i++) {
			if (!last || draft_end(draft, list.keys[i]) > draft_end(draft, *last))
				last = &list.keys[i];
		}
	}
	return last;
}

/* R7: the operations after the last compute. */
static void chain_tail(struct draft *draft, size_t stage, bool overlap)
{
	struct draft_list scatters = draft_list(draft, stage, OP_GRADS_REDUCE_SCATTER);
	const uint32_t *last = then(draft, last_compute(draft, stage), stage, OP_GC);
	struct draft_list after = draft_list(draft, stage, OP_LAYERNORM_GRADS);

	if (overlap && scatters.n && after.n)
		draft_edge(draft, scatters.keys[scatters.n - 1], after.keys[0]);
	last = then(draft, last, stage, OP_LAYERNORM_GRADS);
	last = then(draft, last, stage, OP_EMBEDDING_GRADS);
	if (overlap)
		last = then(draft, last, stage, OP_SEPARATE_GRADS);
	else if (draft->use_dp)
		last = then(draft, last, stage, OP_GRADS_REDUCE_SCATTER);
	last = then(draft, last, stage, OP_CLIP_MAIN_GRAD);
	(void)then(draft, last, stage, OP_OPTIMIZER);
}

/* R8 over DP: each collective of a stage is one transfer of all DP ranks. */
static void group_dp(struct draft *draft, size_t stage)
{
	static const enum optype types[] = { OP_PARAMS_ALL_GATHER, OP_GRADS_REDUCE_SCATTER,
					     OP_SEPARATE_GRADS };
	size_t i, t;

	for (t = 0; t < ARRAY_SIZE(types); t++) {
		struct draft_list list = draft_list(draft, stage, types[t]);

		for (i = 0; i < list.n; i++)
			draft_group(draft, &list.keys[i], 1, true);
	}
}

/* R8 over stages: the i-th operation of each stage is one transfer. */
static void group_stages(struct draft *draft, enum optype type, size_t step, bool over_dp)
{
	size_t pp = draft->trace->job.pp, stage, i = 0, n;

	do {
		for (n = 0, stage = 0; stage < pp; stage += step) {
			struct draft_list list = draft_list(draft, stage, type);

			if (i < list.n)
				draft->scratch[n++] = list.keys[i];
		}
		if (n > 1 || (n == 1 && over_dp))
			draft_group(draft, draft->scratch, n, over_dp);
		i++;
	} while (n > 0);
}

static bool has_type(const struct trace *trace, enum optype type)
{
	size_t i;

	for (i = 0; i < trace->n_keys; i++) {
		if (trace->keys[i].type == type)
			return true;
	}
	return false;
}

static int apply_rules(struct draft *draft, struct err *err)
{
	const struct trace_job *job = &draft->trace->job;
	bool overlap = draft->use_dp && has_type(draft->trace, OP_SEPARATE_GRADS);
	size_t stage;

	for (stage = 0; stage < job->pp; stage++) {
		chain_stage(draft, stage);
		if (draft->use_dp)
			chain_dp(draft, stage, overlap);
		chain_tail(draft, stage, overlap);
		if (draft->use_dp)
			group_dp(draft, stage);
	}
	group_stages(draft, OP_EMBEDDING_GRADS, job->pp > 1 ? job->pp - 1 : 1, false);
	group_stages(draft, OP_CLIP_MAIN_GRAD, 1, true);
	return draft_pipeline(draft, err);
}

/* The keys of each stage and type are contiguous in the trace: sort each range. */
static void list_keys(struct draft *draft)
{
	const struct trace *trace = draft->trace;
	size_t i, cell, n_cells = (size_t)trace->job.pp * OPTYPE_N;

	for (i = 0, cell = 0; cell <= n_cells; cell++) {
		draft->range[cell] = i;
		while (cell < n_cells && i < trace->n_keys &&
		       (size_t)trace->keys[i].stage * OPTYPE_N + trace->keys[i].type == cell)
			i++;
	}
	for (i = 0; i < trace->n_keys; i++)
		draft->by_start[i] = (uint32_t)i;
	for (cell = 0; cell < n_cells; cell++)
		draft_sort(draft, draft->by_start + draft->range[cell],
			   draft->range[cell + 1] - draft->range[cell]);
}

static void draft_release(struct draft *draft)
{
	free(draft->edges);
	free(draft->group);
	free(draft->over_dp);
	free(draft->by_start);
	free(draft->range);
	free(draft->scratch);
	free(draft->real);
	free(draft->n_real);
}

int graph_new(const struct trace *trace, struct graph **ret_graph, struct err *err)
{
	size_t i, n = trace->n_keys, n_cells = (size_t)trace->job.pp * OPTYPE_N;
	CLEANUP(graph_freep) struct graph *graph = xcalloc(1, sizeof(*graph));
	CLEANUP(draft_release)
	struct draft draft = {
		.trace = trace,
		.use_dp = (uint64_t)trace->job.dp * trace->job.dsp > 1,
		.group = xcalloc(n, sizeof(*draft.group)),
		.over_dp = xcalloc(n, sizeof(*draft.over_dp)),
		.by_start = xcalloc(n, sizeof(*draft.by_start)),
		.range = xcalloc(n_cells + 1, sizeof(*draft.range)),
		.scratch = xcalloc(n, sizeof(*draft.scratch)),
		.real = xcalloc(n, sizeof(*draft.real)),
		.n_real = xcalloc(n_cells, sizeof(*draft.n_real)),
	};
	int r;

	for (i = 0; i < n; i++)
		draft.group[i] = NO_GROUP;
	list_keys(&draft);
	r = apply_rules(&draft, err);
	if (r == 0)
		r = draft_order(&draft, graph, err);
	if (r < 0)
		return r;
	*ret_graph = TAKE(graph);
	return 0;
}

void graph_free(struct graph *graph)
{
	if (!graph)
		return;
	free(graph->first);
	free(graph->deps);
	free(graph->units);
	free(graph->boundary);
	free(graph->members);
	free(graph->unit_deps);
	free(graph->slot);
	free(graph->last);
	free(graph);
}
