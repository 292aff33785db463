/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for what within a step: once for a job, on keys, the same for all
 * lanes. From "Understanding Stragglers in Large Model Training" (2505.05713) and
 * its published tool, whose rules R1 to R8 are named where they are applied.
 *
 * Operations that are one transfer (the two ends of a send, a collective over the
 * DP ranks) are a *unit*: all members have started before any of them moves data.
 * What is in no group is a unit of its own. Units come in an order in which each
 * comes after all it waits for.
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
	bool over_dp;			  /* over the DP ranks too */
};

struct graph {
	size_t n_keys;
	uint32_t *first, *deps; /* key k waits for deps[first[k]] to deps[first[k + 1] - 1] */
	struct graph_unit *units;
	size_t n_units;
	size_t n_early; /* of the units: those before DP ranks met, which know nothing of each other */
	uint32_t *boundary; /* keys of early units whose ends the others, or the step, need */
	size_t n_boundary;
	uint32_t *members;   /* keys */
	uint32_t *unit_deps; /* keys that any member waits for, once each */
	uint32_t *slot;	     /* [key]: the row its end is in while it is needed */
	size_t n_slots;
	uint32_t *last; /* keys whose latest end is that of the step: optimizer */
	size_t n_last;
};

/*
 * The graph of a trace, from DP rank 0 of its first step. -EINVAL: sends and
 * receives that do not fit the computes, or operations that wait for each other.
 */
int graph_new(const struct trace *trace, struct graph **ret_graph, struct err *err);
void graph_free(struct graph *graph);
DEFINE_CLEANUP(struct graph *, graph_free, graph_freep);
