/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/trace_shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/* The step of the last line of the file. */
static int64_t last_step(const struct trace_builder *builder)
{
	const struct trace_part *part;
	uint64_t newest = 0;
	int64_t step = 0;

	for (part = builder->parts; part; part = part->next) {
		uint64_t line = part->n_ops ? trace_part_line(builder, part, part->n_ops - 1) : 0;

		if (line > newest) {
			newest = line;
			step = part->steps[trace_part_at(part, part->n_ops - 1)->step];
		}
	}
	return step;
}

static int unite_steps(const struct trace_builder *builder, struct shape *shape, struct err *err)
{
	const struct trace_part *part;
	size_t i, n = 0;

	for (part = builder->parts; part; part = part->next)
		n += part->n_steps;
	shape->steps = xcalloc(n + 1, sizeof(*shape->steps));
	for (n = 0, part = builder->parts; part; part = part->next) {
		for (i = 0; i < part->n_steps; i++)
			shape->steps[n++] = part->steps[i];
	}
	qsort(shape->steps, n, sizeof(*shape->steps), by_value);
	for (i = 0; i < n; i++) {
		bool again = shape->n_steps && shape->steps[shape->n_steps - 1] == shape->steps[i];

		if (!again && !(shape->leaves && shape->steps[i] == shape->left))
			shape->steps[shape->n_steps++] = shape->steps[i];
	}
	for (i = 0; i < shape->n_steps; i++) {
		if (builder->n_built && bsearch(&shape->steps[i], builder->built, builder->n_built,
						sizeof(*builder->built), by_value))
			return err_set(
				err, EINVAL,
				"step %" PRId64
				" continues after its window was analysed: sort the trace by step,"
				" or raise --max-ops",
				shape->steps[i]);
	}
	if (shape->leaves && shape->n_steps < TRACE_STEPS_MIN)
		return err_set(err, EAGAIN, "%zu steps are too few for a window", shape->n_steps);
	if (shape->n_steps == 0)
		return err_set(err, EINVAL, "no operation");
	return 0;
}

static void map_steps(const struct trace_builder *builder, struct shape *shape)
{
	const struct trace_part *part;
	size_t i, p = 0;

	for (part = builder->parts; part; part = part->next)
		shape->n_parts++;
	shape->place = xcalloc(shape->n_parts + 1, sizeof(*shape->place));
	for (part = builder->parts; part; part = part->next, p++) {
		shape->place[p] = xcalloc(part->n_steps + 1, sizeof(**shape->place));
		for (i = 0; i < part->n_steps; i++) {
			const int64_t *at = bsearch(&part->steps[i], shape->steps, shape->n_steps,
						    sizeof(*shape->steps), by_value);

			shape->place[p][i] = at ? (uint32_t)(at - shape->steps) : SHAPE_NONE;
		}
	}
}

/* Sebastiano Vigna's splitmix64: sums of its values distinguish sets. */
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* What must be equal in all lanes: the operation, its micro-batch and its chunk. */
static inline uint64_t identity_sum(const struct held_op *op)
{
	uint64_t x = held_identity(op);

	if (optype_is_compute(op->type))
		x |= (uint64_t)(op->mb + 1) << 42;
	return mix(x * 67 + (uint64_t)(op->mc + 1) + UINT64_C(0x9e3779b97f4a7c15));
}

static int add_up_lanes(const struct trace_builder *builder, struct shape *shape, struct err *err)
{
	const struct trace_part *part;
	size_t i, p = 0, n_lanes = shape->n_steps * builder->job.dp;

	if (n_lanes > trace_builder_count(builder))
		return err_set(
			err, EINVAL,
			"%zu operations are fewer than one for each of %zu steps and %u DP ranks",
			trace_builder_count(builder), shape->n_steps, builder->job.dp);
	shape->lanes = calloc(n_lanes, sizeof(*shape->lanes));
	if (!shape->lanes)
		return err_set(err, ENOMEM, "no memory for %zu lanes", n_lanes);
	for (part = builder->parts; part; part = part->next, p++) {
		for (i = 0; i < part->n_ops; i++) {
			const struct held_op *op = trace_part_at(part, i);
			uint32_t step = shape->place[p][op->step];
			struct shape_lane *lane;

			if (step == SHAPE_NONE)
				continue;
			lane = &shape->lanes[(size_t)step * builder->job.dp + op->dp_rank];
			lane->sum += identity_sum(op);
			lane->n++;
			shape->n_ops++;
		}
	}
	return 0;
}

static int by_lane(const void *a, const void *b)
{
	const struct shape_lane *left = a, *right = b;

	if (left->n != right->n)
		return left->n < right->n ? 1 : -1;
	return (left->sum > right->sum) - (left->sum < right->sum);
}

/* What most lanes have; if two are equally frequent, the larger. */
static void find_common(struct shape *shape, size_t n_lanes)
{
	CLEANUP(freep) struct shape_lane *sorted = xcalloc(n_lanes, sizeof(*sorted));
	size_t i, start = 0, most = 0;

	memcpy(sorted, shape->lanes, n_lanes * sizeof(*sorted));
	qsort(sorted, n_lanes, sizeof(*sorted), by_lane);
	for (i = 0; i < n_lanes && sorted[i].n; i++) {
		if (by_lane(&sorted[i], &sorted[start]) != 0)
			start = i;
		if (i - start + 1 > most) {
			most = i - start + 1;
			shape->common = sorted[i];
		}
	}
}

static void drop_steps(struct shape *shape, uint32_t dp)
{
	size_t step, d;

	shape->kept = xcalloc(shape->n_steps, sizeof(*shape->kept));
	shape->dropped = xcalloc(shape->n_steps, sizeof(*shape->dropped));
	for (step = 0; step < shape->n_steps; step++) {
		const struct shape_lane *lanes = &shape->lanes[step * dp];

		for (d = 0; d < dp && by_lane(&lanes[d], &shape->common) == 0; d++)
			;
		if (d == dp) {
			shape->kept[step] = (uint32_t)shape->n_kept++;
			continue;
		}
		shape->kept[step] = SHAPE_NONE;
		shape->dropped[shape->n_dropped++] = (struct trace_dropped){
			.step = shape->steps[step],
			.dp_rank = (uint32_t)d,
			.has = lanes[d].n,
			.expected = shape->common.n,
		};
	}
}

int shape_find(const struct trace_builder *builder, bool all_but_last, struct shape *shape,
	       struct err *err)
{
	int r;

	*shape = (struct shape){ .leaves = all_but_last };
	if (all_but_last)
		shape->left = last_step(builder);
	r = unite_steps(builder, shape, err);
	if (r < 0)
		return r;
	map_steps(builder, shape);
	r = add_up_lanes(builder, shape, err);
	if (r < 0)
		return r;
	find_common(shape, shape->n_steps * builder->job.dp);
	drop_steps(shape, builder->job.dp);
	return 0;
}

void shape_release(struct shape *shape)
{
	size_t i;

	for (i = 0; shape->place && i < shape->n_parts; i++)
		free(shape->place[i]);
	free(shape->place);
	free(shape->steps);
	free(shape->lanes);
	free(shape->kept);
	free(shape->dropped);
	*shape = (struct shape){ 0 };
}

/* --- what a builder keeps after a window is built --- */

struct left_op {
	struct held_op op;
	struct held_run place;
};

static size_t gather_left(const struct trace_part *part, const uint32_t *place, struct left_op *ops)
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

/* Remove all operations and put back those that are left for later. */
static int keep_left(struct trace_part *part, const uint32_t *place, int64_t step, struct err *err)
{
	CLEANUP(freep) struct left_op *ops = NULL;
	size_t i, n = gather_left(part, place, NULL);
	int r = 0;

	ops = calloc(n + 1, sizeof(*ops));
	if (!ops)
		return err_set(err, ENOMEM, "no memory for %zu operations", n);
	(void)gather_left(part, place, ops);
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

/* --- duplicate operations: searched where a step was dropped --- */

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

static size_t gather_entries(const struct trace_builder *builder, const struct shape *shape,
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
	n = gather_entries(builder, shape, NULL);
	entries = calloc(n + 1, sizeof(*entries));
	if (!entries)
		return err_set(err, ENOMEM, "no memory for %zu operations", n);
	(void)gather_entries(builder, shape, entries);
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
