/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact duration of a step of one pipeline under three schedules. Each stage runs its
 * operations in order, each as soon as its inputs are there:
 *
 * PIPE_SCHEDULE_1F1B: PipeDream-Flush (Narayanan et al. 2021, section 2.2.1). Stage p warms up with
 * P - 1 - p forwards, then runs one backward per forward.
 *
 * PIPE_SCHEDULE_INTERLEAVED: the same with v model chunks per stage (ibid., 2.2.2, in Megatron's
 * order). Micro-batches, a multiple of P, go in rounds of P, each round through all chunks; the
 * warm-up is 2 (P - 1 - p) + (v - 1) P.
 *
 * PIPE_SCHEDULE_ZB_H1: Qi et al. 2023 (arXiv 2401.10241, section 2.3). The backward is split into
 * that of the inputs, for which the previous stage waits, and that of the weights, for which nobody
 * does. Stage p runs the latter p micro-batches behind, so that it fills its idle end.
 *
 * With equal stages and no transfers a stage is idle for (P - 1)(F + B), for a v-th of that, and
 * for (P - 1)(F + B - W) with B for the inputs alone: a third if F = B = W.
 *
 * Chunk c of stage p is the virtual stage c * P + p. Its forward needs that of the previous virtual
 * stage, its backward that of the next one (on the last its own forward). A transfer takes time,
 * but occupies neither stage.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum {
	PIPE_SCHEDULE_STAGES_MAX = 4096,
	PIPE_SCHEDULE_CHUNKS_MAX = 64,
	PIPE_SCHEDULE_WORK_MAX = 1 << 24, /* stages * chunks * micro-batches */
};

enum pipe_schedule_kind { PIPE_SCHEDULE_1F1B, PIPE_SCHEDULE_INTERLEAVED, PIPE_SCHEDULE_ZB_H1 };

/* Arrays by virtual stage, stages * chunks entries, in seconds and bytes per micro-batch. */
struct pipe_schedule_wish {
	enum pipe_schedule_kind kind;
	size_t stages, microbatches;
	size_t chunks; /* per stage: 1 unless interleaved */
	const double *forward, *backward;
	const double *weight; /* for PIPE_SCHEDULE_ZB_H1, whose `backward` is for the inputs alone */
	const double *transfer;	  /* from each to the next, and back; NULL: none */
	const double *activation; /* held from forward to backward; NULL: unknown */
	double kept;		  /* part of it held until the weights' backward, 0 to 1 */
	const double *room;	  /* bytes per stage for activations; NULL: no limit */
};

/* End times of operations in seconds at [virtual stage * microbatches + i]. */
struct pipe_schedule {
	double time;		    /* from the first forward to the last backward */
	double *forward, *backward; /* owned; backward of the inputs */
	double *weight;		    /* owned; NULL unless PIPE_SCHEDULE_ZB_H1 */
	double *idle;		    /* owned; per stage, out of `time` */
	double *peak; /* owned; largest number of bytes held by each stage, 0 if unknown */
};

/*
 * Simulates the schedule. -ERANGE for what no such job can do: micro-batches that are not a
 * multiple of the stages, activations for which a stage has no room (which one, and the shortfall);
 * -EINVAL for input out of bounds.
 */
int pipe_schedule_play(const struct pipe_schedule_wish *wish, struct pipe_schedule *ret_schedule,
		       struct err *err);
void pipe_schedule_release(struct pipe_schedule *schedule);

/* "1f1b", "interleaved", "zb-h1"; and back, -1 if unknown. */
const char *pipe_schedule_name(enum pipe_schedule_kind kind);
int pipe_schedule_kind(const char *name);
