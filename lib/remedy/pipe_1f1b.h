/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact duration of one pipeline under the 1F1B schedule of PipeDream and Megatron, by its
 * recurrence: a stage warms up with forwards, then runs one backward per forward. Forward i of a
 * stage needs forward i of the previous stage, backward i that of the next stage (on the last one
 * its own forward). Transfers are free: the simplest case of pipe_schedule.h, which simulates it.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

/* When the computations of a pipeline end, in seconds: [stage * microbatches + i]. */
struct pipe_ends {
	double *forward, *backward;
};

/*
 * Seconds from the first forward to the last backward; `forward` and `backward` are the seconds per
 * stage. `ret_ends` may be NULL. O(stages * microbatches). NAN, with `ret_ends` unchanged, beyond
 * the limits of pipe_schedule_play().
 */
double pipe_1f1b(const double *forward, const double *backward, size_t stages, size_t microbatches,
		 struct pipe_ends *ret_ends);

/* Frees what pipe_1f1b() allocated. */
void pipe_1f1b_release(struct pipe_ends *ends);
