/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who keeps whom waiting in a job, which links are slow and who stood still, of a trace whose ends
 * of collectives put all workers on one clock (ends.h), as those are that hosts write from rings.
 * What it means and how it is told is lib/ring/ring_late.h; here its input is made of a trace: the
 * collectives of replicas and the transfers between stages, and for what a rank does by itself the
 * computes and the optimizer.
 *
 * A rank stands for its worker, whose tensor-parallel peers have no part in a trace. Of transfers
 * those of one boundary and direction are compared, over the replicas: stages need not send
 * alike. Whether collectives of a stage are slow is not told: a trace does not say how much they
 * move.
 *
 * It is evidence, and accuses nobody: that do the suspects. Pure.
 */
#pragma once

#include "attribution/trace.h"
#include "lib/ring/ring_late.h"

enum { LATENESS_OPS_MAX = 1 << 20 }; /* of a trace: 300 MB while it is looked at */

/* A compute is a stall when it is longer than usual by this part of a step, and these seconds. */
#define LATENESS_STALL 0.25
#define LATENESS_STALL_LEAST 0.1

struct lateness {
	const char *why;	    /* constant: nothing can be told; NULL: the rest is known */
	struct ring_lateness found; /* ranks are [d + dp * stage] */
	double steps;
};

/*
 * `by_ends`: all workers are on one clock by the ends of collectives. `spread` is that of good
 * silicon. `step_s`: what a step takes. To be released.
 */
struct lateness lateness_find(const struct trace *trace, bool by_ends, double spread, double step_s);
void lateness_release(struct lateness *lateness);
