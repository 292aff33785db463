/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact time of one pipeline under 1F1B (pipe_schedule.h) whose stages are alike and whose
 * micro-batches are not: packs of sequences.
 *
 * In round t each stage does forward t, and then the backward that it is behind with, which
 * needs no more than the round before: backward t - (stages - 1 - p) of stage p.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

enum { PIPE_PACKS_WORK_MAX = 1 << 16 }; /* packs * stages */

/*
 * Seconds from the first forward to the last backward of `n` packs, in their order; pack i takes
 * seconds[i] on each stage, of which `forward` (0 to 1) is forward. Beyond PIPE_PACKS_WORK_MAX it
 * is what it takes at most: their sum, and the longest once more for each further stage.
 */
double pipe_packs_play(const double *seconds, size_t n, size_t stages, double forward);
