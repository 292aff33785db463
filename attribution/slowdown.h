/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a job loses to stragglers, and to which: simulations of its steps in
 * which some operations cost what they should. S is the slowdown, S of a part that
 * with only this part as it was; M of a part the share of the loss that goes when it
 * is mended. Formulas and names are those of "Understanding Stragglers in Large Model
 * Training" (2505.05713); X, M_x, M_comm, M_seq, M_gc and the nodes are ours.
 *
 * NAN is what cannot be said. Pure: no clock, no I/O; the threads are those of crew.h.
 */
#pragma once

#include <stdint.h>

#include "attribution/balance.h"
#include "attribution/cost.h"
#include "attribution/graph.h"
#include "attribution/trace.h"

/* Workers as [d * pp + stage], with what blaming just them explains. */
struct guilty_set {
	uint32_t *workers; /* owned */
	size_t n;
	double share, share_compute; /* M, and M when only what is no transfer is mended */
};

/* The published tool's files on a set of operations. */
struct set_effect {
	double time_without, time_only; /* s: the set mended; all but the set mended */
	double share_without, share_only;
};

/* What is mended in a simulation whose times of steps are kept. */
enum slowdown_fix {
	FIX_TOP, /* W */
	FIX_X,
	FIX_LAST_STAGE,
	FIX_LEVELLED, /* computes of a stage take the mean */
	FIX_PAUSES,
	FIX_COMM,
	FIX_NODE, /* the top node */
	FIX_N,
};

struct slowdown {
	double recorded, simulated, ideal; /* s: T_act, T, T_ideal */
	double s;			   /* T / T_ideal */
	double discrepancy;		   /* |T - T_act| / T_act */
	bool measurable;		   /* T is above T_ideal */
	double types[OPTYPE_N];	 /* S by the first type of a reported name; NAN: not there */
	double *dp, *pp;	 /* S of a DP rank, of a stage */
	double *workers, *exact; /* S_w by min(S_dp, S_pp), and exactly; [d * pp + stage] */
	double *step_recorded, *step_simulated; /* s; [step] */
	double *step_types;			/* s; [type * n_steps + step] */
	double *step_dp;			/* s; [step * dp + d] */
	double *step_pp;			/* s; [stage * n_steps + step] */
	double *step_fixed[FIX_N];		/* s; [step]; NULL: there is no such thing */
	struct guilty_set top, x;		/* W and X */
	bool x_whole_stage;
	struct set_effect last_stage, top_remedy; /* the files ms and mw */
	double stage_beside_top;		  /* A_s_excl */
	double comm, levelled, pauses;		  /* M_comm, M_seq, M_gc */
	double *node_times, *node_shares;	  /* [node]; NULL until slowdown_find_nodes() */
	int64_t top_node;			  /* -1: mending none gains anything */
	struct balance balance;
};

/* All of it but for the nodes. -ENOMEM. */
int slowdown_find(const struct trace *trace, const struct graph *graph, const struct cost *cost,
		  size_t n_threads, struct slowdown *ret_slowdown, struct err *err);
/* What mending each node gives, of what slowdown_find() found: a simulation a node. -ENOMEM. */
int slowdown_find_nodes(const struct trace *trace, const struct graph *graph,
			const struct cost *cost, size_t n_threads, struct slowdown *slowdown,
			struct err *err);
void slowdown_release(struct slowdown *slowdown);

/* The first type that a report calls like this one. */
enum optype slowdown_type(enum optype type);
