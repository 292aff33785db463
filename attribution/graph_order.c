/* SPDX-License-Identifier: Apache-2.0 */
/* Topological sort of units (Kahn), and assignment of rows. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "attribution/graph_draft.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Units by number, before they are sorted. */
struct order {
	uint32_t *unit;		   /* [key] */
	uint32_t *first, *members; /* keys of a unit */
	uint32_t *out_first, *out; /* units that wait for a unit, once per edge */
	uint32_t *waits;	   /* [unit]: edges from units that are not placed yet */
	uint32_t *queue;	   /* sorted units */
	uint32_t n, n_placed, n_early;
};

static void order_release(struct order *order)
{
	free(order->unit);
	free(order->first);
	free(order->members);
	free(order->out_first);
	free(order->out);
	free(order->waits);
	free(order->queue);
}

static int by_to_and_from(const void *a, const void *b)
{
	const struct draft_edge *left = a, *right = b;

	if (left->to != right->to)
		return left->to < right->to ? -1 : 1;
	return (left->from > right->from) - (left->from < right->from);
}

/* Convert the edges, without duplicates, to the lists of the graph. */
static void list_deps(struct draft *draft, struct graph *graph)
{
	size_t i, n = 0;
	uint32_t key = 0;

	qsort(draft->edges, draft->n_edges, sizeof(*draft->edges), by_to_and_from);
	for (i = 0; i < draft->n_edges; i++) {
		if (n == 0 || by_to_and_from(&draft->edges[n - 1], &draft->edges[i]) != 0)
			draft->edges[n++] = draft->edges[i];
	}
	draft->n_edges = n;
	graph->n_keys = draft->trace->n_keys;
	graph->first = xcalloc(graph->n_keys + 1, sizeof(*graph->first));
	graph->deps = xcalloc(n + 1, sizeof(*graph->deps));
	for (i = 0; i < n; i++) {
		while (key < draft->edges[i].to)
			graph->first[++key] = (uint32_t)i;
		graph->deps[i] = draft->edges[i].from;
	}
	while (key < graph->n_keys)
		graph->first[++key] = (uint32_t)n;
}

/* Turn the counts at [i + 1] into start indexes. */
static void add_up(uint32_t *first, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		first[i + 1] += first[i];
}

static void list_units(const struct draft *draft, struct order *order)
{
	size_t i, n = draft->trace->n_keys;
	CLEANUP(freep) uint32_t *of_group = xcalloc(draft->n_groups + 1, sizeof(*of_group));
	CLEANUP(freep) uint32_t *at = NULL;

	order->unit = xcalloc(n + 1, sizeof(*order->unit));
	for (i = 0; i < n; i++) {
		uint32_t group = draft->group[i];

		if (group == NO_GROUP)
			order->unit[i] = order->n++;
		else if (of_group[group])
			order->unit[i] = of_group[group] - 1;
		else
			order->unit[i] = (of_group[group] = ++order->n) - 1;
	}
	order->first = xcalloc(order->n + 1, sizeof(*order->first));
	order->members = xcalloc(n + 1, sizeof(*order->members));
	for (i = 0; i < n; i++)
		order->first[order->unit[i] + 1]++;
	add_up(order->first, order->n);
	at = xcalloc(order->n + 1, sizeof(*at));
	for (i = 0; i < n; i++)
		order->members[order->first[order->unit[i]] + at[order->unit[i]]++] = (uint32_t)i;
}

static void list_waiting(const struct draft *draft, struct order *order)
{
	CLEANUP(freep) uint32_t *at = xcalloc(order->n + 1, sizeof(*at));
	size_t i;

	order->out_first = xcalloc(order->n + 1, sizeof(*order->out_first));
	order->out = xcalloc(draft->n_edges + 1, sizeof(*order->out));
	order->waits = xcalloc(order->n + 1, sizeof(*order->waits));
	for (i = 0; i < draft->n_edges; i++)
		order->out_first[order->unit[draft->edges[i].from] + 1]++;
	add_up(order->out_first, order->n);
	for (i = 0; i < draft->n_edges; i++) {
		uint32_t from = order->unit[draft->edges[i].from];
		uint32_t to = order->unit[draft->edges[i].to];

		order->out[order->out_first[from] + at[from]++] = to;
		order->waits[to]++;
	}
}

static void place_units(struct order *order)
{
	uint32_t i, next;

	order->queue = xcalloc(order->n + 1, sizeof(*order->queue));
	for (i = 0; i < order->n; i++) {
		if (order->waits[i] == 0)
			order->queue[order->n_placed++] = i;
	}
	for (next = 0; next < order->n_placed; next++) {
		uint32_t unit = order->queue[next];

		for (i = order->out_first[unit]; i < order->out_first[unit + 1]; i++) {
			if (--order->waits[order->out[i]] == 0)
				order->queue[order->n_placed++] = order->out[i];
		}
	}
}

/* Does a unit synchronize DP ranks, or depend on one that does? */
static bool is_late(const struct draft *draft, const struct graph *graph, const struct order *order,
		    uint32_t unit, const bool *late)
{
	uint32_t group = draft->group[order->members[order->first[unit]]], m, i;
	bool over_dp = group != NO_GROUP && draft->over_dp[group];

	for (m = order->first[unit]; m < order->first[unit + 1]; m++) {
		uint32_t key = order->members[m];

		for (i = graph->first[key]; i < graph->first[key + 1]; i++) {
			if (over_dp || late[order->unit[graph->deps[i]]])
				return true;
		}
	}
	return false;
}

/* Move units before the first meeting of DP ranks to the front; the order stays topological. */
static void early_first(const struct draft *draft, const struct graph *graph, struct order *order)
{
	CLEANUP(freep) bool *late = xcalloc(order->n + 1, sizeof(*late));
	CLEANUP(freep) uint32_t *rest = xcalloc(order->n + 1, sizeof(*rest));
	uint32_t at, n_rest = 0;

	for (at = 0; at < order->n; at++) {
		uint32_t unit = order->queue[at];

		late[unit] = is_late(draft, graph, order, unit, late);
		if (late[unit])
			rest[n_rest++] = unit;
		else
			order->queue[order->n_early++] = unit;
	}
	memcpy(order->queue + order->n_early, rest, n_rest * sizeof(*rest));
}

/* Find a key on a cycle: follow dependencies back from a unit that could not be placed. */
static uint32_t key_on_cycle(const struct graph *graph, const struct order *order)
{
	uint32_t unit = 0, i, m, steps, key = 0;

	while (order->waits[unit] == 0)
		unit++;
	for (steps = 0; steps < order->n; steps++) {
		uint32_t next = unit;

		for (m = order->first[unit]; m < order->first[unit + 1]; m++) {
			uint32_t member = order->members[m];

			for (i = graph->first[member]; i < graph->first[member + 1]; i++) {
				if (order->waits[order->unit[graph->deps[i]]] == 0)
					continue;
				next = order->unit[graph->deps[i]];
				key = graph->deps[i];
			}
		}
		unit = next;
	}
	return key;
}

static int cycle(const struct draft *draft, const struct graph *graph, const struct order *order,
		 struct err *err)
{
	const struct trace_key *key = &draft->trace->keys[key_on_cycle(graph, order)];

	return err_set(err, EINVAL,
		       "%s %" PRIu32
		       " of stage %u waits for itself: the starts of dp_rank 0 in step %" PRId64
		       " form a cycle",
		       optype_name(key->type), key->seq, key->stage, draft->trace->steps[0]);
}

/* Copy the sorted units into the graph. */
static void take_units(const struct draft *draft, const struct order *order, struct graph *graph)
{
	CLEANUP(freep) uint32_t *seen = xcalloc(graph->n_keys + 1, sizeof(*seen));
	uint32_t n_members = 0, n_deps = 0, at, m, i;

	graph->units = xcalloc(order->n + 1, sizeof(*graph->units));
	graph->members = xcalloc(graph->n_keys + 1, sizeof(*graph->members));
	graph->unit_deps = xcalloc(draft->n_edges + 1, sizeof(*graph->unit_deps));
	for (at = 0; at < order->n; at++) {
		struct graph_unit *unit = &graph->units[at];
		uint32_t number = order->queue[at];

		unit->first_member = n_members;
		unit->first_dep = n_deps;
		for (m = order->first[number]; m < order->first[number + 1]; m++) {
			uint32_t key = order->members[m];

			graph->members[n_members++] = key;
			unit->sync = draft->group[key] != NO_GROUP;
			unit->over_dp = unit->sync && draft->over_dp[draft->group[key]];
			for (i = graph->first[key]; i < graph->first[key + 1]; i++) {
				if (seen[graph->deps[i]] == at + 1)
					continue;
				seen[graph->deps[i]] = at + 1;
				graph->unit_deps[n_deps++] = graph->deps[i];
			}
		}
		unit->n_members = n_members - unit->first_member;
		unit->n_deps = n_deps - unit->first_dep;
	}
	graph->n_units = order->n;
}

/* The step ends with the optimizers, or without any with the keys that nobody waits for. */
static void take_last(const struct draft *draft, struct graph *graph)
{
	CLEANUP(freep) bool *ends = xcalloc(graph->n_keys + 1, sizeof(*ends));
	size_t i, n_optimizers = 0;

	for (i = 0; i < graph->n_keys; i++) {
		ends[i] = draft->trace->keys[i].type == OP_OPTIMIZER;
		n_optimizers += ends[i];
	}
	for (i = 0; n_optimizers == 0 && i < graph->n_keys; i++)
		ends[i] = true;
	for (i = 0; n_optimizers == 0 && i < draft->n_edges; i++)
		ends[draft->edges[i].from] = false;
	graph->last = xcalloc(graph->n_keys + 1, sizeof(*graph->last));
	for (i = 0; i < graph->n_keys; i++) {
		if (ends[i])
			graph->last[graph->n_last++] = (uint32_t)i;
	}
}

static void take_boundary(const struct order *order, struct graph *graph)
{
	CLEANUP(freep) bool *needed = xcalloc(graph->n_keys + 1, sizeof(*needed));
	size_t at, i;

	graph->n_early = order->n_early;
	graph->boundary = xcalloc(graph->n_keys + 1, sizeof(*graph->boundary));
	for (at = graph->n_early; at < graph->n_units; at++) {
		for (i = 0; i < graph->units[at].n_deps; i++)
			needed[graph->unit_deps[graph->units[at].first_dep + i]] = true;
	}
	for (i = 0; i < graph->n_last; i++)
		needed[graph->last[i]] = true;
	for (at = 0; at < graph->n_early; at++) {
		for (i = 0; i < graph->units[at].n_members; i++) {
			uint32_t key = graph->members[graph->units[at].first_member + i];

			if (needed[key])
				graph->boundary[graph->n_boundary++] = key;
		}
	}
}

/*
 * Assign rows for the ends, reusing them once nobody needs them: few enough to stay in the cache.
 * The last keys keep theirs.
 */
static void take_slots(struct graph *graph)
{
	CLEANUP(freep) uint32_t *needed = xcalloc(graph->n_keys + 1, sizeof(*needed));
	CLEANUP(freep) uint32_t *idle = xcalloc(graph->n_keys + 1, sizeof(*idle));
	uint32_t n_idle = 0, at, i;

	for (at = 0; at < graph->n_units; at++) {
		for (i = 0; i < graph->units[at].n_deps; i++)
			needed[graph->unit_deps[graph->units[at].first_dep + i]] = at;
	}
	for (i = 0; i < graph->n_last; i++)
		needed[graph->last[i]] = UINT32_MAX;
	graph->slot = xcalloc(graph->n_keys + 1, sizeof(*graph->slot));
	for (at = 0; at < graph->n_units; at++) {
		const struct graph_unit *unit = &graph->units[at];

		for (i = 0; i < unit->n_members; i++) {
			uint32_t key = graph->members[unit->first_member + i];

			graph->slot[key] = n_idle ? idle[--n_idle] : (uint32_t)graph->n_slots++;
		}
		for (i = 0; i < unit->n_deps; i++) {
			uint32_t key = graph->unit_deps[unit->first_dep + i];

			if (needed[key] == at)
				idle[n_idle++] = graph->slot[key];
		}
		for (i = 0; i < unit->n_members; i++) {
			uint32_t key = graph->members[unit->first_member + i];

			if (needed[key] == 0)
				idle[n_idle++] = graph->slot[key];
		}
	}
}

int draft_order(struct draft *draft, struct graph *graph, struct err *err)
{
	CLEANUP(order_release) struct order order = { 0 };

	list_deps(draft, graph);
	list_units(draft, &order);
	list_waiting(draft, &order);
	place_units(&order);
	if (order.n_placed < order.n)
		return cycle(draft, graph, &order, err);
	early_first(draft, graph, &order);
	take_units(draft, &order, graph);
	take_last(draft, graph);
	take_boundary(&order, graph);
	take_slots(graph);
	return 0;
}
