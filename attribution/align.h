/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks that do not agree, of a trace whose hosts each stamp by their own.
 *
 * Where all ends of collectives tell clocks to microseconds (ends.h), as those from rings do, each
 * worker's is corrected by them. Else:
 *
 * The two ends of a send end together: the median of their difference, over all
 * sends between two nodes, is that of their clocks. A clock is corrected only when
 * the barrier of the gradient clip says the same, and when it is off by more than
 * a millisecond: a host that is late at the barrier may just be slow, and a single
 * opinion is none. Nodes that no pipeline connects are compared by the clip alone,
 * and so keep their clocks.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/graph.h"

/* Differences up to this say nothing: those of good clocks reach 0.7 ms. Seconds. */
#define ALIGN_LEAST 1e-3

struct alignment {
	double *offsets; /* owned: [node], seconds its clock is ahead; 0: left as it is */
	size_t n;	 /* nodes that were corrected */
	bool by_ends;	 /* all ends agreed: operations of all workers can be compared */
};

/* Find the offsets and take them from the starts of the trace. -ENOMEM. */
int align_clocks(struct trace *trace, const struct graph *graph, struct alignment *ret_alignment,
		 struct err *err);
void alignment_release(struct alignment *alignment);
