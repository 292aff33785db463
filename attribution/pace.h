/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pace of each worker at each kind of operation, and that of the other workers with the same
 * work, i.e. of its stage. For computes it is the mean, because their losses add up, for
 * transfers the median, because they have outliers.
 *
 * Pure: no clock, no I/O; threads are from crew.h.
 */
#pragma once

#include <stdint.h>

#include "attribution/cost.h"
#include "attribution/simulate.h"
#include "attribution/trace.h"

struct pace {
	const struct trace *trace;
	double *mean,
		*median; /* owned: seconds, [worker * OPTYPE_N + type]; workers are [d * pp + stage] */
	uint32_t *count; /* owned: operations per step, [stage * OPTYPE_N + type] */
};

/* The level of a set of workers: the median of those that are not left out. */
struct pace_level {
	double *mean, *median; /* owned: seconds, [stage * OPTYPE_N + type] */
	bool *alike; /* owned: [stage]; false: no workers left, so all other stages stand in */
};

/*
 * Never fails: its memory is proportional to workers, and to the steps of one worker's operations
 * of a kind. Borrows `cost`.
 */
struct pace pace_find(const struct trace *trace, const struct cost *cost, size_t n_threads);
void pace_release(struct pace *pace);

/*
 * The level of the workers that are not `left_out` ([worker]); for all stages, or only for those
 * that have such workers, with 0 for the others.
 */
struct pace_level pace_level_of(const struct pace *pace, const bool *left_out, bool all_stages);
void pace_level_release(struct pace_level *level);

/* Factor that turns a worker's computes into those of the level; 1 if it has none. */
double pace_scale(const struct pace *pace, const struct pace_level *level, size_t worker,
		  enum optype type);

/* The same for all operations, including transfers; keeps their variation over time. */
struct whatif_pace pace_even(const struct pace *pace, const struct pace_level *level, size_t worker,
			     enum optype type);

/* Replace the worker by one at the level; with transfers or computes only. */
struct whatif_pace pace_replaced(const struct pace *pace, const struct pace_level *level,
				 size_t worker, enum optype type, bool transfers);

/* Seconds per step by which a worker exceeds the level, for one type of operation. */
double pace_excess_of(const struct pace *pace, const struct pace_level *level, size_t worker,
		      enum optype type);

/* The same for all its computes, or all its transfers. */
double pace_excess(const struct pace *pace, const struct pace_level *level, size_t worker,
		   bool transfers);
