/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of each operation itself: of computes their duration, of transfers the time since all
 * members had started. Transfers of -10 ms or less count as 0, as in the published tool: clocks
 * that are so far off are useless.
 *
 * Pure: no clock, no I/O; threads are from crew.h.
 */
#pragma once

#include <stdint.h>

#include "attribution/optype.h"
#include "lib/base/macro.h"

struct err;
struct graph;
struct trace;

struct cost {
	double *value; /* owned; indexed like trace->duration */
	bool has[OPTYPE_N];
	double ideal[OPTYPE_N];	  /* mean of all computes, median of all transfers */
	size_t negative, clamped; /* number of transfers between -10 ms and 0, and below */
};

/* -ENOMEM. */
int cost_find(const struct trace *trace, const struct graph *graph, size_t n_threads,
	      struct cost *ret_cost, struct err *err);
void cost_release(struct cost *cost);
