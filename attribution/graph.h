/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dependencies within a step: found once per job, on keys, since all lanes are alike. From
 * "Understanding Stragglers in Large Model Training" (2505.05713) and its published tool, whose
 * rules R1 to R8 are named where they are applied.
 *
 * The operations of one transfer (the two ends of a send, a collective over the DP ranks) form a
 * *unit*: no member moves data before all have started. An operation in no group is a unit by
 * itself. Units are sorted topologically.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "attribution/trace.h"

struct graph_unit {
	uint32_t first_member, n_members; /* in `members` */
	uint32_t first_dep, n_deps;	  /* in `unit_deps` */
	bool sync;			  /* end = when all members have started + transfer */
	bool over_dp;			  /* includes the DP ranks */
};

struct graph {
	size_t n_keys;
	uint32_t *first, *deps; /* key k waits for deps[first[k]] to deps[first[k + 1] - 1] */
	struct graph_unit *units;
	size_t n_units;
	size_t n_early; /* units before DP ranks first meet, which are independent of each other */
	uint32_t *boundary; /* keys of early units whose ends later units, or the step, need */
	size_t n_boundary;
	uint32_t *members;   /* keys */
	uint32_t *unit_deps; /* keys that any member waits for, without duplicates */
	uint32_t *slot;	     /* [key]: the row that holds its end while it is needed */
	size_t n_slots;
	uint32_t *last; /* keys whose latest end is the end of the step: optimizer */
	size_t n_last;
};

/*
 * Build the graph of a trace from DP rank 0 of its first step. -EINVAL: sends and receives do not
 * match the computes, or there is a cycle.
 */
int graph_new(const struct trace *trace, struct graph **ret_graph, struct err *err);
void graph_free(struct graph *graph);
DEFINE_CLEANUP(struct graph *, graph_free, graph_freep);
