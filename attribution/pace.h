/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast each worker is at each kind of operation, and the pace of the others that do
 * the same: those of its stage. Computes go by their mean, as what they lose adds up,
 * transfers by their median, as they have faults.
 *
 * Pure: no clock, no I/O; the threads are those of crew.h.
 */
#pragma once

#include <stdint.h>

#include "attribution/cost.h"
#include "attribution/simulate.h"
#include "attribution/trace.h"

struct pace {
	const struct trace *trace;
	double *mean,
		*median; /* owned: s, [worker * OPTYPE_N + type]; workers are [d * pp + stage] */
	uint32_t *count; /* owned: operations a step, [stage * OPTYPE_N + type] */
};

/* The level of some workers: the median of those that are not left out. */
struct pace_level {
	double *mean, *median; /* owned: s, [stage * OPTYPE_N + type] */
	bool *alike; /* owned: [stage]; false: none was left on it, so that all other stages stand in */
};

/* Never fails: its memory is by worker, and the steps of a kind of operation of one. The costs are
 * borrowed. */
struct pace pace_find(const struct trace *trace, const struct cost *cost, size_t n_threads);
void pace_release(struct pace *pace);

/*
 * Of the workers that are not `left_out` ([worker]); of all stages, or only of those that have
 * such, the others being 0.
 */
struct pace_level pace_level_of(const struct pace *pace, const bool *left_out, bool all_stages);
void pace_level_release(struct pace_level *level);

/* What turns the computes of a worker into those of the level; 1 where it does not have any. */
double pace_scale(const struct pace *pace, const struct pace_level *level, size_t worker,
		  enum optype type);

/* The same of all operations, transfers too, whose changes in time stay. */
struct whatif_pace pace_even(const struct pace *pace, const struct pace_level *level, size_t worker,
			     enum optype type);

/* The worker replaced by one of the level; transfers too, or computes alone. */
struct whatif_pace pace_replaced(const struct pace *pace, const struct pace_level *level,
				 size_t worker, enum optype type, bool transfers);

/* Seconds a step that a worker takes more than the level for operations of one kind. */
double pace_excess_of(const struct pace *pace, const struct pace_level *level, size_t worker,
		      enum optype type);

/* The same for all its computes, or for its transfers. */
double pace_excess(const struct pace *pace, const struct pace_level *level, size_t worker,
		   bool transfers);
