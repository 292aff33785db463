/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step, operation by operation, as it would have been: for drawing. What it
 * ends with is what simulate() finds. Pure.
 */
#pragma once

#include "attribution/cost.h"
#include "attribution/graph.h"

/* Seconds from the begin of the step, [key * dp + d]. */
struct replay {
	double *start, *ready, *end; /* owned; ready: all ends are there and data moves */
};

/* As it should be: every operation costs what is ideal for its type. */
struct replay replay_ideal(const struct trace *trace, const struct graph *graph,
			   const struct cost *cost);

/* As step number `step` was recorded. */
struct replay replay_recorded(const struct trace *trace, const struct graph *graph, size_t step);

void replay_release(struct replay *replay);
