/* SPDX-License-Identifier: Apache-2.0 */
/* What stays in a builder when the steps of a window are built. */
#include <errno.h>
#include <stdlib.h>

#include "attribution/trace_shape.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

struct left_op {
	struct held_op op;
	struct held_run place;
};

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static size_t gather(const struct trace_part *part, const uint32_t *place, struct left_op *ops)
{
	size_t i, n = 0;

	for (i = 0; i < part->n_ops; i++) {
		const struct held_op *op = trace_part_at(part, i);

		if (place[op->step] != SHAPE_NONE)
			continue;
		if (ops)
			ops[n] = (struct left_op){ *op, trace_part_place(part, i) };
		n++;
	}
	return n;
}

/* Take the part apart and put back what is left. */
static int keep_left(struct trace_part *part, const uint32_t *place, int64_t step, struct err *err)
{
	CLEANUP(freep) struct left_op *ops = NULL;
	size_t i, n = gather(part, place, NULL);
	int r = 0;

	ops = calloc(n + 1, sizeof(*ops));
	if (!ops)
		return err_set(err, ENOMEM, "no memory for %zu operations", n);
	(void)gather(part, place, ops);
	trace_part_clear(part);
	for (i = 0; i < n && r == 0; i++) {
		ops[i].op.step = (uint32_t)trace_part_step(part, step);
		r = trace_part_append(part, &ops[i].op, ops[i].place.block, ops[i].place.line, err);
	}
	part->last_step = 0;
	return r;
}

int held_keep(struct trace_builder *builder, const struct shape *shape, struct err *err)
{
	struct trace_part *part;
	size_t p = 0;
	int r;

	for (part = builder->parts; part; part = part->next, p++) {
		if (!shape->leaves) {
			trace_part_clear(part);
			continue;
		}
		r = keep_left(part, shape->place[p], shape->left, err);
		if (r < 0)
			return r;
	}
	builder->n_windows++;
	builder->built = xrealloc(builder->built, builder->n_built + shape->n_steps,
				  sizeof(*builder->built));
	memcpy(builder->built + builder->n_built, shape->steps,
	       shape->n_steps * sizeof(*builder->built));
	builder->n_built += shape->n_steps;
	qsort(builder->built, builder->n_built, sizeof(*builder->built), by_value);
	return 0;
}
