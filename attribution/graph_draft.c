/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/graph_draft.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

struct sort_entry {
	double start;
	uint32_t seq, type, key;
};

static int by_start(const void *a, const void *b)
{
	const struct sort_entry *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->seq != right->seq)
		return left->seq < right->seq ? -1 : 1;
	return (left->type > right->type) - (left->type < right->type);
}

void draft_sort(const struct draft *draft, uint32_t *keys, size_t n)
{
	CLEANUP(freep) struct sort_entry *entries = xcalloc(n + 1, sizeof(*entries));
	size_t i;

	for (i = 0; i < n; i++)
		entries[i] = (struct sort_entry){
			.start = draft_start(draft, keys[i]),
			.seq = draft->trace->keys[keys[i]].seq,
			.type = draft->trace->keys[keys[i]].type,
			.key = keys[i],
		};
	qsort(entries, n, sizeof(*entries), by_start);
	for (i = 0; i < n; i++)
		keys[i] = entries[i].key;
}

struct draft_list draft_list(const struct draft *draft, size_t stage, enum optype type)
{
	const size_t *range = &draft->range[stage * OPTYPE_N + type];

	return (struct draft_list){ draft->by_start + range[0], range[1] - range[0] };
}

void draft_edge(struct draft *draft, uint32_t from, uint32_t to)
{
	if (draft->n_edges == draft->edges_alloc) {
		draft->edges_alloc = MAX(draft->edges_alloc * 2, (size_t)256);
		draft->edges = xrealloc(draft->edges, draft->edges_alloc, sizeof(*draft->edges));
	}
	draft->edges[draft->n_edges++] = (struct draft_edge){ to, from };
}

void draft_chain(struct draft *draft, struct draft_list list)
{
	size_t i;

	for (i = 1; i < list.n; i++)
		draft_edge(draft, list.keys[i - 1], list.keys[i]);
}

void draft_group(struct draft *draft, const uint32_t *keys, size_t n, bool over_dp)
{
	size_t i;

	for (i = 0; i < n; i++)
		draft->group[keys[i]] = draft->n_groups;
	draft->over_dp[draft->n_groups++] = over_dp;
}
