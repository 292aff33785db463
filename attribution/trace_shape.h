/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From operations in any order to what they have in common: the steps, the set
 * of operations that most lanes have, and the steps that differ.
 */
#pragma once

#include "attribution/trace_part.h"

#define SHAPE_NONE UINT32_MAX

/* What the operations of a lane add up to, whatever their order. */
struct shape_lane {
	uint64_t sum;
	uint32_t n;
};

struct shape {
	size_t n_parts;
	uint32_t **place; /* [part][step of the part]: place in `steps`, or SHAPE_NONE */
	int64_t *steps;	  /* ascending */
	size_t n_steps, n_ops;
	int64_t left; /* the step that is left for later; only when `leaves` */
	bool leaves;
	struct shape_lane *lanes; /* [step][dp] */
	struct shape_lane common; /* what most lanes have */
	uint32_t *kept;		  /* [step]: place among those that are whole, or SHAPE_NONE */
	size_t n_kept;
	struct trace_dropped *dropped;
	size_t n_dropped;
};

/*
 * Find the shape of all steps, or of all but that of the last line. -EINVAL,
 * -EAGAIN (`all_but_last` and there is one step), -ENOMEM.
 */
int shape_find(const struct trace_builder *builder, bool all_but_last, struct shape *shape,
	       struct err *err);
void shape_release(struct shape *shape);

/* Which operation it is within a lane: stage, type and seq, in this order. */
static inline uint64_t held_identity(const struct held_op *op)
{
	return (uint64_t)op->stage << 32 | (uint64_t)op->type << 24 | op->seq;
}

/* Fails with -EINVAL when a step that was dropped has an operation twice. */
int shape_check_twice(const struct trace_builder *builder, const struct shape *shape,
		      struct err *err);

/* "line 9: forward-compute 3 of stage 0, ... is there twice (line 7 too)"; -EINVAL. */
int shape_twice(const struct trace_builder *builder, const struct trace_part *part, size_t i,
		uint64_t other_line, struct err *err);

/*
 * The steps of the shape are built: forget their operations, and remember the
 * steps when there will be another window. -ENOMEM.
 */
int held_keep(struct trace_builder *builder, const struct shape *shape, struct err *err);
