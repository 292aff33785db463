/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact time of one pipeline under the 1F1B schedule of PipeDream and Megatron,
 * by its recurrence: a stage warms up with forwards, then takes one backward for each
 * forward. Forward i of a stage needs forward i of the stage before, backward i that of
 * the stage after (its own forward on the last). Transfers cost nothing: the plainest case of
 * pipe_schedule.h, which plays it.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

/* When the computes of a pipeline end, in seconds: [stage * microbatches + i]. */
struct pipe_ends {
	double *forward, *backward;
};

/*
 * Seconds from the first forward to the last backward, for `forward` and `backward`
 * seconds of each of `stages` stages. `ret_ends` may be NULL. O(stages * microbatches). NAN, and
 * `ret_ends` left alone, beyond the bounds of pipe_schedule_play().
 */
double pipe_1f1b(const double *forward, const double *backward, size_t stages, size_t microbatches,
		 struct pipe_ends *ret_ends);

/* Free what pipe_1f1b() put there. */
void pipe_1f1b_release(struct pipe_ends *ends);
