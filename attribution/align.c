/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/align.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/ends.h"
#include "attribution/trace_build.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

/* Seconds: clip and sends agree if they differ by less. */
#define AGREE 1e-3

/* By how much node `to` is ahead of `from`, from the sends of one DP rank between two stages. */
struct link {
	uint32_t from, to;
	double ahead;
};

struct aligner {
	struct trace *trace;
	const struct graph *graph;
	struct link *links;
	size_t n_links;
	uint32_t *first_link, *link_list; /* links of node i: link_list[first_link[i]] ... */
	double *by_sends, *by_clip;	  /* [node] */
	bool *reached;			  /* [node] */
	uint32_t *queue; /* nodes in the order of traversal: components are contiguous */
	size_t n_queue;
	double *values; /* scratch for medians: of transfers, links, or clips and workers */
};

static void aligner_release(struct aligner *a)
{
	free(a->links);
	free(a->by_sends);
	free(a->by_clip);
	free(a->first_link);
	free(a->link_list);
	free(a->reached);
	free(a->queue);
	free(a->values);
}

static uint32_t node_of(const struct trace *trace, size_t d, size_t stage)
{
	return (uint32_t)trace->job.workers[d * trace->job.pp + stage].node;
}

static double end_at(const struct trace *trace, size_t key, size_t lane)
{
	size_t at = key * trace->n_lanes + lane;

	return trace->start[at] + trace->duration[at];
}

static bool is_send(const struct aligner *a, const struct graph_unit *unit)
{
	uint32_t key = a->graph->members[unit->first_member];

	return unit->n_members == 2 && optype_is_p2p(a->trace->keys[key].type);
}

/* The keys of a transfer, with that of the lower stage first. */
static void ends_of(const struct aligner *a, const struct graph_unit *unit, uint32_t keys[2])
{
	uint32_t one = a->graph->members[unit->first_member];
	uint32_t other = a->graph->members[unit->first_member + 1];
	bool swap = a->trace->keys[one].stage > a->trace->keys[other].stage;

	keys[0] = swap ? other : one;
	keys[1] = swap ? one : other;
}

/* The link of DP rank `d` between two stages, from their transfers `units`. */
static void find_link(struct aligner *a, const uint32_t *units, size_t n, size_t d)
{
	const struct trace *trace = a->trace;
	uint32_t keys[2], nodes[2];
	size_t i, step, at = 0;

	ends_of(a, &a->graph->units[units[0]], keys);
	for (i = 0; i < 2; i++)
		nodes[i] = node_of(trace, d, trace->keys[keys[i]].stage);
	if (nodes[0] == nodes[1])
		return;
	for (i = 0; i < n; i++) {
		ends_of(a, &a->graph->units[units[i]], keys);
		for (step = 0; step < trace->n_steps; step++) {
			size_t lane = step * trace->job.dp + d;

			a->values[at++] =
				end_at(trace, keys[1], lane) - end_at(trace, keys[0], lane);
		}
	}
	a->links[a->n_links++] = (struct link){ nodes[0], nodes[1], stats_median_of(a->values, at) };
}

struct sortable {
	uint32_t from, to, unit;
};

static int by_stages(const void *a, const void *b)
{
	const struct sortable *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	if (left->to != right->to)
		return left->to < right->to ? -1 : 1;
	return (left->unit > right->unit) - (left->unit < right->unit);
}

/* Find all links: groups transfers by their two stages. */
static int find_links(struct aligner *a, struct err *err)
{
	size_t i, j, d, n = 0, dp = a->trace->job.dp;
	CLEANUP(freep) struct sortable *sorted = xcalloc(a->graph->n_units + 1, sizeof(*sorted));
	CLEANUP(freep) uint32_t *units = xcalloc(a->graph->n_units + 1, sizeof(*units));

	for (i = 0; i < a->graph->n_units; i++) {
		uint32_t keys[2];

		if (!is_send(a, &a->graph->units[i]))
			continue;
		ends_of(a, &a->graph->units[i], keys);
		sorted[n++] = (struct sortable){ a->trace->keys[keys[0]].stage,
						 a->trace->keys[keys[1]].stage, (uint32_t)i };
	}
	qsort(sorted, n, sizeof(*sorted), by_stages);
	a->links = calloc((n + 1) * dp, sizeof(*a->links));
	a->values = calloc((n + 2) * (a->trace->n_steps + dp) + dp * a->trace->job.pp,
			   sizeof(*a->values));
	if (!a->links || !a->values)
		return err_set(err, ENOMEM, "no memory to compare %zu transfers", n * dp);
	for (i = 0; i < n; i = j) {
		for (j = i;
		     j < n && sorted[j].from == sorted[i].from && sorted[j].to == sorted[i].to; j++)
			units[j - i] = sorted[j].unit;
		for (d = 0; d < dp; d++)
			find_link(a, units, j - i, d);
	}
	return 0;
}

/* List the links of each node. */
static void list_links(struct aligner *a)
{
	size_t i, n = a->trace->job.n_nodes;
	CLEANUP(freep) uint32_t *at = xcalloc(n + 1, sizeof(*at));

	a->first_link = xcalloc(n + 1, sizeof(*a->first_link));
	a->link_list = xcalloc(2 * a->n_links + 1, sizeof(*a->link_list));
	for (i = 0; i < a->n_links; i++) {
		a->first_link[a->links[i].from + 1]++;
		a->first_link[a->links[i].to + 1]++;
	}
	for (i = 0; i < n; i++) {
		a->first_link[i + 1] += a->first_link[i];
		at[i] = a->first_link[i];
	}
	for (i = 0; i < a->n_links; i++) {
		a->link_list[at[a->links[i].from]++] = (uint32_t)i;
		a->link_list[at[a->links[i].to]++] = (uint32_t)i;
	}
}

/* Median of the links between two nodes in both directions; there is at least one. */
static double ahead(struct aligner *a, uint32_t from, uint32_t to)
{
	size_t n = 0;
	uint32_t i;

	for (i = a->first_link[from]; i < a->first_link[from + 1]; i++) {
		const struct link *link = &a->links[a->link_list[i]];

		if (link->from == from && link->to == to)
			a->values[n++] = link->ahead;
		else if (link->from == to)
			a->values[n++] = -link->ahead;
	}
	return stats_median_of(a->values, n);
}

static void reach(struct aligner *a, uint32_t node, double by_sends)
{
	a->reached[node] = true;
	a->by_sends[node] = by_sends;
	a->queue[a->n_queue++] = node;
}

/* Append all nodes that sends connect with this one to the queue. */
static void spread_out(struct aligner *a, uint32_t node)
{
	size_t next = a->n_queue;
	uint32_t i;

	for (reach(a, node, 0); next < a->n_queue; next++) {
		node = a->queue[next];
		for (i = a->first_link[node]; i < a->first_link[node + 1]; i++) {
			const struct link *link = &a->links[a->link_list[i]];
			uint32_t other = link->from == node ? link->to : link->from;

			if (!a->reached[other])
				reach(a, other, a->by_sends[node] + ahead(a, node, other));
		}
	}
}

/* The first clip of each stage; SIZE_MAX if there is none. */
static size_t *clips_of(const struct trace *trace)
{
	size_t *clips = xcalloc(trace->job.pp, sizeof(*clips)), key;

	for (key = 0; key < trace->job.pp; key++)
		clips[key] = SIZE_MAX;
	for (key = trace->n_keys; key-- > 0;) {
		if (trace->keys[key].type == OP_CLIP_MAIN_GRAD)
			clips[trace->keys[key].stage] = key;
	}
	return clips;
}

/* When the middle worker's clip ends in each step; NAN if there are none. */
static void find_middle(struct aligner *a, const size_t *clips, double *middle)
{
	const struct trace *trace = a->trace;
	size_t step, stage, d, n, dp = trace->job.dp;

	for (step = 0; step < trace->n_steps; step++) {
		for (n = 0, stage = 0; stage < trace->job.pp; stage++) {
			for (d = 0; clips[stage] != SIZE_MAX && d < dp; d++)
				a->values[n++] = end_at(trace, clips[stage], step * dp + d);
		}
		middle[step] = n ? stats_median_of(a->values, n) : (double)NAN;
	}
}

/* Workers (`to`) sorted by node (`from`). The caller frees the array. */
static struct sortable *list_workers(const struct trace *trace)
{
	const size_t pp = trace->job.pp, n = pp * trace->job.dp;
	struct sortable *workers = xcalloc(n, sizeof(*workers));
	size_t i;

	for (i = 0; i < n; i++)
		workers[i] = (struct sortable){ node_of(trace, i / pp, i % pp), (uint32_t)i, 0 };
	qsort(workers, n, sizeof(*workers), by_stages);
	return workers;
}

/*
 * How long after the middle worker's a node's clip ends: the median over its workers of their
 * medians over steps.
 */
static void find_clips(struct aligner *a)
{
	const struct trace *trace = a->trace;
	size_t pp = trace->job.pp, dp = trace->job.dp, n_workers = dp * pp, step, i, j;
	CLEANUP(freep) size_t *clips = clips_of(trace);
	CLEANUP(freep) double *middle = xcalloc(trace->n_steps, sizeof(*middle));
	CLEANUP(freep) struct sortable *workers = list_workers(trace);

	find_middle(a, clips, middle);
	for (i = 0; i < n_workers; i = j) {
		double *late = a->values + trace->n_steps;
		size_t n = 0;

		for (j = i; j < n_workers && workers[j].from == workers[i].from; j++) {
			size_t key = clips[workers[j].to % pp], d = workers[j].to / pp;

			for (step = 0; key != SIZE_MAX && step < trace->n_steps; step++)
				a->values[step] = end_at(trace, key, step * dp + d) - middle[step];
			if (key != SIZE_MAX)
				late[n++] = stats_median_of(a->values, trace->n_steps);
		}
		a->by_clip[workers[i].from] = n ? stats_median_of(late, n) : (double)NAN;
	}
}

/*
 * Sends only give differences: the constant of a component is the median that fits its clips.
 * Then set the offset of each node on which both agree.
 */
static void compare(struct aligner *a, const uint32_t *nodes, size_t n, struct alignment *alignment)
{
	double base;
	size_t i;

	if (n < 2)
		return;
	for (i = 0; i < n; i++) {
		a->values[i] = a->by_clip[nodes[i]] - a->by_sends[nodes[i]];
		if (isnan(a->values[i]))
			return;
	}
	base = stats_median_of(a->values, n);
	for (i = 0; i < n; i++) {
		double offset = a->by_sends[nodes[i]] + base;

		if (fabs(offset) <= ALIGN_LEAST || fabs(offset - a->by_clip[nodes[i]]) > AGREE)
			continue;
		alignment->offsets[nodes[i]] = offset;
		alignment->n++;
	}
}

static void correct(struct trace *trace, const struct alignment *alignment)
{
	size_t key, lane, dp = trace->job.dp;

	for (key = 0; key < trace->n_keys; key++) {
		double *row = trace_row(trace, trace->start, key);

		for (lane = 0; lane < trace->n_lanes; lane++)
			row[lane] -=
				alignment->offsets[node_of(trace, lane % dp, trace->keys[key].stage)];
	}
	trace_shift(trace);
}

/* A node's offset is the median of its workers'. */
static void say_nodes(struct aligner *a, const struct ends *ends, struct alignment *alignment)
{
	const size_t n = (size_t)a->trace->job.dp * a->trace->job.pp;
	CLEANUP(freep) double *values = xcalloc(n, sizeof(*values));
	CLEANUP(freep) struct sortable *workers = list_workers(a->trace);
	size_t i, j;

	for (i = 0; i < n; i = j) {
		double offset;

		for (j = i; j < n && workers[j].from == workers[i].from; j++)
			values[j - i] = ends->ahead[workers[j].to].at;
		offset = stats_median_of(values, j - i);
		if (fabs(offset) <= ENDS_APART)
			continue;
		alignment->offsets[workers[i].from] = offset;
		alignment->n++;
	}
}

/* Align by the ends of collectives, if these are consistent. */
static void align_by_ends(struct aligner *a, struct alignment *alignment)
{
	struct ends ends = ends_find(a->trace);

	alignment->by_ends = ends.agree;
	if (ends.differ) {
		say_nodes(a, &ends, alignment);
		ends_correct(a->trace, &ends);
	}
	ends_release(&ends);
}

static int align_by_sends(struct aligner *a, struct alignment *alignment, struct err *err)
{
	const size_t n = a->trace->job.n_nodes;
	size_t first;
	uint32_t i;
	int r = find_links(a, err);

	if (r < 0)
		return r;
	if (a->n_links) {
		list_links(a);
		find_clips(a);
	}
	for (i = 0; a->n_links && i < n; i++) {
		first = a->n_queue;
		if (a->reached[i])
			continue;
		spread_out(a, i);
		compare(a, a->queue + first, a->n_queue - first, alignment);
	}
	if (alignment->n)
		correct(a->trace, alignment);
	return 0;
}

int align_clocks(struct trace *trace, const struct graph *graph, struct alignment *ret_alignment,
		 struct err *err)
{
	size_t n = trace->job.n_nodes;
	struct alignment alignment = { .offsets = xcalloc(n, sizeof(double)) };
	CLEANUP(aligner_release)
	struct aligner a = {
		.trace = trace,
		.graph = graph,
		.by_sends = xcalloc(n, sizeof(double)),
		.by_clip = xcalloc(n, sizeof(double)),
		.reached = xcalloc(n, sizeof(bool)),
		.queue = xcalloc(n, sizeof(uint32_t)),
	};
	int r = 0;

	align_by_ends(&a, &alignment);
	if (!alignment.by_ends)
		r = align_by_sends(&a, &alignment, err);
	if (r < 0)
		alignment_release(&alignment);
	else
		*ret_alignment = alignment;
	return r;
}

void alignment_release(struct alignment *alignment)
{
	free(alignment->offsets);
	*alignment = (struct alignment){ 0 };
}
