/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace shows beside its labels, also when it is rejected: hosts that start
 * their operations late, and times that grow from step to step.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/graph.h"

/*
 * Time between the end of what an operation waits for and its start; of what depends on
 * the host alone, which leaves out sends, receives and the layernorm that ends a pipeline.
 */
struct launch_delay {
	double seconds; /* in a step, mean over steps */
	double above;	/* what the median of its peers has not; 0: nothing */
	double share;	/* of all that is above; NAN when nothing is */
};

struct hints {
	struct launch_delay
		*workers; /* owned: [d * pp + stage]; peers: the same stage, or all when dp < 3 */
	struct launch_delay *nodes; /* owned: [node], sums of its workers */
	double step_time_slope;	    /* seconds that a step takes more than the one before */
	double start_skew_slope; /* the same of the time between the first start of any worker and
				    of the last */
};

/* Never fails: its memory is by worker and step. */
struct hints hints_find(const struct trace *trace, const struct graph *graph);
void hints_release(struct hints *hints);
