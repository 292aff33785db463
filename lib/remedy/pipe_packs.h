/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact time of one pipeline under 1F1B (pipe_schedule.h) whose micro-batches are not alike:
 * packs of sequences.
 *
 * In round t each stage does forward t, and then the backward that it is behind with, which
 * needs no more than the round before: backward t - (stages - 1 - p) of stage p.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

enum { PIPE_PACKS_WORK_MAX = 1 << 16 }; /* packs * stages */

struct pipe_packs {
	const double *seconds; /* [n]: of a pack on a stage as fast as it should be */
	size_t n, stages;
	double forward;	    /* part of them that is forward, 0 to 1 */
	const double *slow; /* [stages]: times as long on each; NULL: 1 on all */
	/* Else of each by itself, forward and backward: [stage * n + i]; `slow` counts here too. */
	const double *each[2];
};

/*
 * Seconds from the first forward to the last backward of the packs, in their order. Beyond
 * PIPE_PACKS_WORK_MAX it is what it takes at most, by pipe_packs_at_most().
 */
double pipe_packs_play(const struct pipe_packs *packs);

/*
 * A bound of it: all packs on the slowest stage, which take `sum`, and the longest once on each
 * other stage.
 */
double pipe_packs_at_most(double sum, double longest, size_t stages, const double *slow);
