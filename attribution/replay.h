/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step, operation by operation, for drawing. Its end is the one that simulate() computes.
 * Pure.
 */
#pragma once

#include "attribution/cost.h"
#include "attribution/graph.h"

/* Seconds since the start of the step, [key * dp + d]. */
struct replay {
	double *start, *ready, *end; /* owned; ready: all members have started and data moves */
};

/* The ideal step: every operation has the ideal cost of its type. */
struct replay replay_ideal(const struct trace *trace, const struct graph *graph,
			   const struct cost *cost);

/* Step number `step` as recorded. */
struct replay replay_recorded(const struct trace *trace, const struct graph *graph, size_t step);

void replay_release(struct replay *replay);
