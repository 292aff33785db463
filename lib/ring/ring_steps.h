/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts the rings of one process into steps.
 *
 * Operations of all its communicators except those within a worker (ring_kind.h), in the order in
 * which the program issued them, are one sequence; its period (ring_period.h) is the number of
 * operations in a step. A step ends after its gradients and their norm: where something else
 * follows a norm or, in a job without norms, at the longest gap (where the optimizer or the first
 * forward runs) among the places where something else follows gradients once a step; else at the
 * longest gaps (if all operations look alike, up to 32 a step). A step is whole if it has the same
 * operations as most: so evaluations, checkpoints, warm-up, operations overwritten before they were
 * read, and incomplete first and last steps are left out, and counted.
 *
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/ring/ring_kind.h"
#include "lib/ring/ring_op.h"
#include "lib/ring/ring_period.h"

enum {
	RING_STEPS_RINGS_MAX = 64,	 /* of a process */
	RING_STEPS_OPS_MAX = 256 * 1024, /* of all its rings together */
	RING_STEPS_MIN = 3,		 /* steps that must be alike */
};

struct ring_step_op {
	const struct ring_op *op; /* borrowed from the rings */
	uint64_t token;
	uint32_t ring;
	uint8_t work; /* enum ring_work */
};

/* Operations first to first + n - 1; the next one begins the next step. */
struct ring_step {
	int64_t number; /* the same on all ranks: NCCL's number of its last collective in the widest
			   communicator, divided by what a step adds to it */
	size_t first, n;
};

struct ring_steps {
	struct ring_step_op *ops; /* owned; in the order issued */
	size_t n_ops;
	struct ring_step *steps; /* owned; whole ones, ascending */
	size_t n_steps;
	size_t left_out; /* between the first and the last whole one */
	struct ring_period period;
};

/*
 * -ENODATA with a sentence: no steps can be seen; -E2BIG: more than RING_STEPS_RINGS_MAX or
 * RING_STEPS_OPS_MAX; errors of ring_kind_find(). On success the caller releases `ret`.
 */
int ring_steps_find(const struct ring_view *rings, size_t n, const struct ring_shape *shape,
		    struct ring_steps *ret, struct err *err);
void ring_steps_release(struct ring_steps *steps);
