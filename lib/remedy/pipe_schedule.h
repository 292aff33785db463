/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact time of a step of one pipeline under three schedules, played in the order that
 * each stage has, as soon as what an operation needs is there:
 *
 * PIPE_SCHEDULE_1F1B: PipeDream-Flush (Narayanan et al. 2021, section 2.2.1). Stage p warms up with
 * P - 1 - p forwards, then takes a backward for each forward.
 *
 * PIPE_SCHEDULE_INTERLEAVED: the same with v chunks of the model on each stage (ibid., 2.2.2, in
 * Megatron's order). Micro-batches, a multiple of P, go in rounds of P, each round through all
 * chunks; the warm-up is 2 (P - 1 - p) + (v - 1) P.
 *
 * PIPE_SCHEDULE_ZB_H1: Qi et al. 2023 (arXiv 2401.10241, section 2.3). The backward is cut in that
 * of the inputs, for which the stage before waits, and that of the weights, for which nobody
 * does. Stage p is p micro-batches behind with the latter, so that they fill its end.
 *
 * With equal stages and no transfers a stage is idle for (P - 1)(F + B), a v-th of that, and
 * (P - 1)(F + B - W) with B of the inputs alone: a third when F = B = W.
 *
 * A model chunk c of stage p is the virtual stage c * P + p. Its forward needs that of the
 * virtual stage before, its backward that of the one behind (its own forward on the last). A
 * transfer takes time, but neither stage.
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

/* Lists by virtual stage: stages * chunks of them, in seconds and bytes of one micro-batch. */
struct pipe_schedule_wish {
	enum pipe_schedule_kind kind;
	size_t stages, microbatches;
	size_t chunks; /* of a stage: 1 unless it is interleaved */
	const double *forward, *backward;
	const double *weight; /* of PIPE_SCHEDULE_ZB_H1, whose `backward` is of the inputs alone */
	const double *transfer;	  /* from each to the next and back; NULL: none */
	const double *activation; /* held from forward to backward; NULL: not known */
	double kept;		  /* part of it that waits for the weights' backward, 0 to 1 */
	const double *room;	  /* bytes that each stage has for activations; NULL: any */
};

/* Ends of operations are in seconds at [virtual stage * microbatches + i]. */
struct pipe_schedule {
	double time;		    /* from the first forward to the last backward */
	double *forward, *backward; /* owned; that of the inputs */
	double *weight;		    /* owned; NULL unless PIPE_SCHEDULE_ZB_H1 */
	double *idle;		    /* owned; of each stage, out of `time` */
	double *peak;		    /* owned; bytes held at once by each stage, 0 when not known */
};

/*
 * Play it. -ERANGE for what no such job can do: micro-batches that are no multiple of the stages,
 * activations that a stage has no room for (which, and by how much); -EINVAL for a wish out of its
 * bounds.
 */
int pipe_schedule_play(const struct pipe_schedule_wish *wish, struct pipe_schedule *ret_schedule,
		       struct err *err);
void pipe_schedule_release(struct pipe_schedule *schedule);

/* "1f1b", "interleaved", "zb-h1"; and back, -1 for another word. */
const char *pipe_schedule_name(enum pipe_schedule_kind kind);
int pipe_schedule_kind(const char *name);
