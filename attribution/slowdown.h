/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a job loses to stragglers, and to which: simulations of its steps in which some
 * operations have their ideal cost. S is the slowdown; S of a part is the slowdown with only this
 * part as recorded; M of a part is the share of the loss that disappears if it is fixed. Formulas
 * and names are from "Understanding Stragglers in Large Model Training" (2505.05713); X, M_x,
 * M_comm, M_seq, M_gc and the nodes are ours.
 *
 * NAN means unknown. Pure: no clock, no I/O; threads are from crew.h.
 */
#pragma once

#include <stdint.h>

#include "attribution/balance.h"
#include "attribution/cost.h"
#include "attribution/graph.h"
#include "attribution/trace.h"

/* Workers as [d * pp + stage], with the share of the loss that they explain. */
struct guilty_set {
	uint32_t *workers; /* owned */
	size_t n;
	double share, share_compute; /* M, and M if only their computes, not transfers, are fixed */
};

/* The effect of fixing a set of operations, as in the published tool's files. */
struct set_effect {
	double time_without, time_only; /* seconds: the set fixed; all but the set fixed */
	double share_without, share_only;
};

/* The simulated fixes whose step times are kept. */
enum slowdown_fix {
	FIX_TOP, /* W */
	FIX_X,
	FIX_LAST_STAGE,
	FIX_LEVELLED, /* computes of a stage take their mean */
	FIX_PAUSES,
	FIX_COMM,
	FIX_NODE, /* the top node */
	FIX_N,
};

struct slowdown {
	double recorded, simulated, ideal; /* seconds: T_act, T, T_ideal */
	double s;			   /* T / T_ideal */
	double discrepancy;		   /* |T - T_act| / T_act */
	bool measurable;		   /* T exceeds T_ideal */
	double types[OPTYPE_N];	 /* S by the first type of each reported name; NAN: absent */
	double *dp, *pp;	 /* S of each DP rank, of each stage */
	double *workers, *exact; /* S_w as min(S_dp, S_pp), and exact; [d * pp + stage] */
	double *step_recorded, *step_simulated; /* seconds; [step] */
	double *step_types;			/* seconds; [type * n_steps + step] */
	double *step_dp;			/* seconds; [step * dp + d] */
	double *step_pp;			/* seconds; [stage * n_steps + step] */
	double *step_fixed[FIX_N];		/* seconds; [step]; NULL: not applicable */
	struct guilty_set top, x;		/* W and X */
	bool x_whole_stage;
	struct set_effect last_stage, top_remedy; /* the files ms and mw */
	double stage_beside_top;		  /* A_s_excl */
	double comm, levelled, pauses;		  /* M_comm, M_seq, M_gc */
	double *node_times, *node_shares;	  /* [node]; NULL until slowdown_find_nodes() */
	int64_t top_node;			  /* -1: fixing any single one gains nothing */
	struct balance balance;
};

/* Everything except the nodes. -ENOMEM. */
int slowdown_find(const struct trace *trace, const struct graph *graph, const struct cost *cost,
		  size_t n_threads, struct slowdown *ret_slowdown, struct err *err);
/* The effect of fixing each node, after slowdown_find(): one simulation per node. -ENOMEM. */
int slowdown_find_nodes(const struct trace *trace, const struct graph *graph,
			const struct cost *cost, size_t n_threads, struct slowdown *slowdown,
			struct err *err);
void slowdown_release(struct slowdown *slowdown);

/* The first type with the same reported name. */
enum optype slowdown_type(enum optype type);
