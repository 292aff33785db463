/* SPDX-License-Identifier: Apache-2.0 */
/* A graph under construction. Only for the implementation of graph.h. */
#pragma once

#include "attribution/graph.h"

#define NO_GROUP UINT32_MAX

struct draft_edge {
	uint32_t to, from;
};

/* Keys sorted by their start in the template. */
struct draft_list {
	const uint32_t *keys;
	size_t n;
};

struct draft {
	const struct trace *trace;
	bool use_dp;
	struct draft_edge *edges;
	size_t n_edges, edges_alloc;
	uint32_t *group; /* [key], or NO_GROUP */
	bool *over_dp;	 /* [group] */
	uint32_t n_groups;
	uint32_t *by_start; /* keys of each stage and type, by start */
	size_t *range;	    /* [stage * OPTYPE_N + type], plus one: index where they begin */
	uint32_t *scratch;  /* [n_keys] */
	uint32_t *real;	    /* [n_keys]: transfers with a peer, at their index in by_start */
	size_t *n_real;	    /* [stage * OPTYPE_N + type] */
};

static inline double draft_start(const struct draft *draft, uint32_t key)
{
	return draft->trace->start[key * draft->trace->n_lanes];
}

static inline double draft_end(const struct draft *draft, uint32_t key)
{
	return draft_start(draft, key) + draft->trace->duration[key * draft->trace->n_lanes];
}

/* The operations of a type on a stage, by start. */
struct draft_list draft_list(const struct draft *draft, size_t stage, enum optype type);

/* Sort keys by (start, seq_id, type). */
void draft_sort(const struct draft *draft, uint32_t *keys, size_t n);

/* Add an edge: `to` waits for `from`. */
void draft_edge(struct draft *draft, uint32_t from, uint32_t to);

/* Make each wait for the previous one. */
void draft_chain(struct draft *draft, struct draft_list list);

/* Make the keys one transfer. */
void draft_group(struct draft *draft, const uint32_t *keys, size_t n, bool over_dp);

/* Apply R3 and R5. -EINVAL. */
int draft_pipeline(struct draft *draft, struct err *err);

/* Sort the units and assign slots for their ends. -EINVAL: a cycle. */
int draft_order(struct draft *draft, struct graph *graph, struct err *err);
