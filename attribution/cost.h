/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each operation costs by itself: computes their duration, transfers the time
 * since all members had started. A transfer of at most -10 ms is 0, as in the
 * published tool: clocks that are so wrong say nothing.
 *
 * Pure: no clock, no I/O; the threads are those of crew.h.
 */
#pragma once

#include <stdint.h>

#include "attribution/optype.h"
#include "lib/base/macro.h"

struct err;
struct graph;
struct trace;

struct cost {
	double *value; /* owned; like trace->duration */
	bool has[OPTYPE_N];
	double ideal[OPTYPE_N];	  /* means of computes, medians of transfers; over all there are */
	size_t negative, clamped; /* transfers between -10 ms and 0, and below */
};

/* -ENOMEM. */
int cost_find(const struct trace *trace, const struct graph *graph, size_t n_threads,
	      struct cost *ret_cost, struct err *err);
void cost_release(struct cost *cost);
