/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings besides the labels, valid even if the trace is rejected: hosts that start their
 * operations late, and times that grow from step to step.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/graph.h"

/*
 * Time between the end of an operation's dependencies and its start. Only for operations that
 * depend on the host alone, which excludes sends, receives and the layernorm that ends a
 * pipeline.
 */
struct launch_delay {
	double seconds; /* per step, mean over steps */
	double above;	/* excess over the median of its peers, at least 0 */
	double share;	/* of the total excess; NAN if that is 0 */
};

struct hints {
	struct launch_delay
		*workers; /* owned: [d * pp + stage]; peers: the same stage, or all if dp < 3 */
	struct launch_delay *nodes; /* owned: [node], sums over its workers */
	double step_time_slope;	    /* seconds by which each step is longer than the previous one */
	double start_skew_slope;    /* the same for the skew of the workers' first starts */
};

/* Never fails: its memory is proportional to workers and steps. */
struct hints hints_find(const struct trace *trace, const struct graph *graph);
void hints_release(struct hints *hints);
