/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact duration of one pipeline under 1F1B (pipe_schedule.h) if its micro-batches differ:
 * packs of sequences.
 *
 * In round t each stage runs forward t, and then the backward that is due, which depends only on
 * the previous round: backward t - (stages - 1 - p) of stage p.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

enum { PIPE_PACKS_WORK_MAX = 1 << 16 }; /* packs * stages */

struct pipe_packs {
	const double *seconds; /* [n]: of a pack on a stage of nominal speed */
	size_t n, stages;
	double forward;	    /* forward's part of them, 0 to 1 */
	const double *slow; /* [stages]: slowdown of each; NULL: 1 for all */
	/* Or individual times, forward and backward: [stage * n + i]; `slow` applies too. */
	const double *each[2];
};

/*
 * Seconds from the first forward to the last backward of the packs, in their order. Beyond
 * PIPE_PACKS_WORK_MAX the upper bound of pipe_packs_at_most().
 */
double pipe_packs_play(const struct pipe_packs *packs);

/*
 * An upper bound: all packs on the slowest stage, which take `sum`, and the longest once on each
 * other stage.
 */
double pipe_packs_at_most(double sum, double longest, size_t stages, const double *slow);
