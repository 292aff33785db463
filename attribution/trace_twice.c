/* SPDX-License-Identifier: Apache-2.0 */
/* An operation that is there twice: looked for where a step was dropped. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "attribution/trace_shape.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

struct entry {
	uint64_t lane, identity;
	const struct trace_part *part;
	size_t i;
};

int shape_twice(const struct trace_builder *builder, const struct trace_part *part, size_t i,
		uint64_t other_line, struct err *err)
{
	const struct held_op *op = trace_part_at(part, i);
	uint64_t line = trace_part_line(builder, part, i);

	return err_set(err, EINVAL,
		       "line %" PRIu64 ": %s %" PRIu32 " of stage %u, dp_rank %u, step %" PRId64
		       " appears twice (line %" PRIu64 " has it too)",
		       MAX(line, other_line), optype_name(op->type), op->seq, op->stage,
		       op->dp_rank, part->steps[op->step], MIN(line, other_line));
}

static int by_lane_and_identity(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->lane != right->lane)
		return left->lane < right->lane ? -1 : 1;
	return (left->identity > right->identity) - (left->identity < right->identity);
}

static size_t gather(const struct trace_builder *builder, const struct shape *shape,
		     struct entry *entries)
{
	const struct trace_part *part;
	size_t i, p = 0, n = 0;

	for (part = builder->parts; part; part = part->next, p++) {
		for (i = 0; i < part->n_ops; i++) {
			const struct held_op *op = trace_part_at(part, i);
			uint32_t step = shape->place[p][op->step];

			if (step == SHAPE_NONE || shape->kept[step] != SHAPE_NONE)
				continue;
			if (entries)
				entries[n] = (struct entry){ (uint64_t)step * builder->job.dp +
								     op->dp_rank,
							     held_identity(op), part, i };
			n++;
		}
	}
	return n;
}

int shape_check_twice(const struct trace_builder *builder, const struct shape *shape,
		      struct err *err)
{
	CLEANUP(freep) struct entry *entries = NULL;
	size_t i, n;

	if (shape->n_dropped == 0)
		return 0;
	n = gather(builder, shape, NULL);
	entries = calloc(n + 1, sizeof(*entries));
	if (!entries)
		return err_set(err, ENOMEM, "no memory for %zu operations", n);
	(void)gather(builder, shape, entries);
	qsort(entries, n, sizeof(*entries), by_lane_and_identity);
	for (i = 1; i < n; i++) {
		if (by_lane_and_identity(&entries[i - 1], &entries[i]) == 0)
			return shape_twice(
				builder, entries[i].part, entries[i].i,
				trace_part_line(builder, entries[i - 1].part, entries[i - 1].i),
				err);
	}
	return 0;
}
