/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Corrects clocks in a trace whose hosts stamped operations by their own clocks.
 *
 * If the ends of all collectives determine the clocks to microseconds (ends.h), as in traces made
 * from rings, each worker's clock is corrected by them. Otherwise:
 *
 * The two ends of a send end together, so the median of their difference, over all sends between
 * two nodes, is the difference of their clocks. A clock is corrected only if the barrier of the
 * gradient clip agrees and the clock is off by more than a millisecond: a host that is late at
 * the barrier may just be slow, and one source is not enough. Nodes that no pipeline connects
 * have only the clip to compare, so their clocks are left alone.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/graph.h"

/* Seconds. Smaller differences mean nothing: those of good clocks reach 0.7 ms. */
#define ALIGN_LEAST 1e-3

struct alignment {
	double *offsets; /* owned: [node], seconds its clock is ahead; 0: not corrected */
	size_t n;	 /* corrected nodes */
	bool by_ends;	 /* all ends agreed: times of all workers are comparable */
};

/* Find the offsets and subtract them from the start times in the trace. -ENOMEM. */
int align_clocks(struct trace *trace, const struct graph *graph, struct alignment *ret_alignment,
		 struct err *err);
void alignment_release(struct alignment *alignment);
