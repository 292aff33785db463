/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what unordered operations have in common: the steps, the set of operations of most lanes,
 * and the steps that differ.
 */
#pragma once

#include "attribution/trace_part.h"

#define SHAPE_NONE UINT32_MAX

/* Order-independent checksum of a lane's operations. */
struct shape_lane {
	uint64_t sum;
	uint32_t n;
};

struct shape {
	size_t n_parts;
	uint32_t **place; /* [part][step of the part]: index in `steps`, or SHAPE_NONE */
	int64_t *steps;	  /* ascending */
	size_t n_steps, n_ops;
	int64_t left; /* step left for later; only if `leaves` */
	bool leaves;
	struct shape_lane *lanes; /* [step][dp] */
	struct shape_lane common; /* of most lanes */
	uint32_t *kept;		  /* [step]: index among the complete ones, or SHAPE_NONE */
	size_t n_kept;
	struct trace_dropped *dropped;
	size_t n_dropped;
};

/*
 * Find the shape of all steps, or of all except that of the last line. -EINVAL, -EAGAIN
 * (`all_but_last` and there is only one step), -ENOMEM.
 */
int shape_find(const struct trace_builder *builder, bool all_but_last, struct shape *shape,
	       struct err *err);
void shape_release(struct shape *shape);

/* Identifies an operation within a lane, ordered by stage, type and seq. */
static inline uint64_t held_identity(const struct held_op *op)
{
	return (uint64_t)op->stage << 32 | (uint64_t)op->type << 24 | op->seq;
}

/* -EINVAL if a dropped step has a duplicate operation. */
int shape_check_twice(const struct trace_builder *builder, const struct shape *shape,
		      struct err *err);

/* Set "line 9: forward-compute 3 of stage 0, ... is there twice (line 7 too)"; returns -EINVAL. */
int shape_twice(const struct trace_builder *builder, const struct trace_part *part, size_t i,
		uint64_t other_line, struct err *err);

/*
 * After building: drop the operations of the shape's steps, and remember the steps if there will
 * be another window. -ENOMEM.
 */
int held_keep(struct trace_builder *builder, const struct shape *shape, struct err *err);
