/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks are late, which links are slow and which ranks stalled, in a trace where the ends
 * of collectives put all workers on one clock (ends.h), as in those that hosts make from rings.
 * lib/ring/ring_late.h does the analysis and explains it; this builds its input from a trace: the
 * collectives of replicas, the transfers between stages and, for a rank's own work, computes and
 * the optimizer.
 *
 * A rank stands for its worker; its tensor-parallel peers are not in the trace. Transfers are
 * compared within a boundary and direction, over the replicas, because stages need not send equal
 * amounts. Slow collectives of a stage are not reported, because a trace does not have their
 * size.
 *
 * This is only evidence; suspects.h blames hosts. Pure.
 */
#pragma once

#include "attribution/trace.h"
#include "lib/ring/ring_late.h"

enum { LATENESS_OPS_MAX = 1 << 20 }; /* per trace: 300 MB during analysis */

/* A compute is a stall if it is longer than usual by this share of a step and this many seconds. */
#define LATENESS_STALL 0.25
#define LATENESS_STALL_LEAST 0.1

struct lateness {
	const char *why;	    /* why there is no result (constant), or NULL */
	struct ring_lateness found; /* ranks are [d + dp * stage] */
	double steps;
};

/*
 * `by_ends`: all workers are on one clock by the ends of collectives. `spread`: of good silicon.
 * `step_s`: duration of a step. The caller releases the result.
 */
struct lateness lateness_find(const struct trace *trace, bool by_ends, double spread, double step_s);
void lateness_release(struct lateness *lateness);
