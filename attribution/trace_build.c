/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/trace_build.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "attribution/crew.h"
#include "attribution/trace_job.h"
#include "attribution/trace_shape.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Codes per existing operation: more means widely scattered seq_ids. */
enum { CODES_PER_OP = 4 };

struct maker {
	struct trace_builder *builder;
	const struct shape *shape;
	size_t *base; /* [stage * OPTYPE_N + type]: code of seq_id 0 */
	size_t n_codes;
	uint32_t *key_of; /* [code], or SHAPE_NONE */
	struct trace *trace;
};

static void maker_release(struct maker *maker)
{
	free(maker->base);
	free(maker->key_of);
	trace_free(maker->trace);
}

static inline size_t code_of(const struct maker *maker, const struct held_op *op)
{
	return maker->base[(size_t)op->stage * OPTYPE_N + op->type] + op->seq;
}

/* Number all possible operations, by stage, type, seq. */
static int number_codes(struct maker *maker, struct err *err)
{
	const struct trace_part *part;
	size_t i, n = (size_t)maker->builder->job.pp * OPTYPE_N;
	size_t limit = maker->shape->n_ops * CODES_PER_OP + TRACE_SEQ_MAX;

	maker->base = xcalloc(n, sizeof(*maker->base));
	for (i = 0; i < n; i++) {
		uint32_t extent = 0;

		for (part = maker->builder->parts; part; part = part->next)
			extent = MAX(extent, part->extent[i]);
		maker->base[i] = maker->n_codes;
		maker->n_codes += extent;
		if (maker->n_codes > limit)
			return err_set(err, EINVAL,
				       "seq_id: %" PRIu32
				       " for %s of stage %zu: numbers must be consecutive from 0",
				       extent - 1, optype_name((enum optype)(i % OPTYPE_N)),
				       i / OPTYPE_N);
	}
	maker->key_of = malloc((maker->n_codes + 1) * sizeof(*maker->key_of));
	if (!maker->key_of)
		return err_set(err, ENOMEM, "no memory for %zu operations", maker->n_codes);
	for (i = 0; i < maker->n_codes; i++)
		maker->key_of[i] = SHAPE_NONE;
	return 0;
}

/* The operations of DP rank 0 in the first complete step are the template. */
static void take_template(struct maker *maker)
{
	struct trace *trace = maker->trace;
	const struct trace_part *part;
	CLEANUP(freep) struct trace_key *found = xcalloc(maker->n_codes + 1, sizeof(*found));
	size_t code, i, p = 0;

	for (part = maker->builder->parts; part; part = part->next, p++) {
		for (i = 0; i < part->n_ops; i++) {
			const struct held_op *op = trace_part_at(part, i);
			uint32_t step = maker->shape->place[p][op->step];

			if (op->dp_rank != 0 || step == SHAPE_NONE || maker->shape->kept[step] != 0)
				continue;
			maker->key_of[code_of(maker, op)] = 0;
			found[code_of(maker, op)] = (struct trace_key){
				.seq = op->seq,
				.stage = op->stage,
				.mb = op->mb,
				.type = op->type,
				.mc = op->mc,
			};
		}
	}
	trace->keys = xcalloc(maker->shape->common.n, sizeof(*trace->keys));
	for (code = 0; code < maker->n_codes; code++) {
		if (maker->key_of[code] == SHAPE_NONE)
			continue;
		maker->key_of[code] = (uint32_t)trace->n_keys;
		trace->keys[trace->n_keys++] = found[code];
	}
}

/* Line of the operation that is already in this one's cell. */
static uint64_t line_of_cell(const struct maker *maker, const struct held_op *like, int64_t step)
{
	const struct trace_part *part;
	size_t i;

	for (part = maker->builder->parts; part; part = part->next) {
		for (i = 0; i < part->n_ops; i++) {
			const struct held_op *op = trace_part_at(part, i);

			if (op != like && held_identity(op) == held_identity(like) &&
			    op->dp_rank == like->dp_rank && part->steps[op->step] == step)
				return trace_part_line(maker->builder, part, i);
		}
	}
	return 0;
}

/* The steps of one thread, which alone writes their cells. */
struct placer {
	struct maker *maker;
	size_t n_shares;
	struct err err; /* of the first failure, with its code */
	atomic_int r;
};

static int place_part(struct maker *maker, const struct trace_part *part, const uint32_t *place,
		      size_t steps[2], struct err *err)
{
	struct trace *trace = maker->trace;
	size_t i;

	for (i = 0; i < part->n_ops; i++) {
		const struct held_op *op = trace_part_at(part, i);
		uint32_t step = place[op->step], key;
		size_t at;

		if (step != SHAPE_NONE)
			step = maker->shape->kept[step];
		if (step < steps[0] || step >= steps[1])
			continue;
		key = maker->key_of[code_of(maker, op)];
		if (key == SHAPE_NONE)
			return err_set(err, EINVAL, "step %" PRId64 ": its operations differ",
				       part->steps[op->step]);
		at = key * trace->n_lanes + (size_t)step * trace->job.dp + op->dp_rank;
		if (!isnan(trace->start[at]))
			return shape_twice(maker->builder, part, i,
					   line_of_cell(maker, op, part->steps[op->step]), err);
		trace->start[at] = op->start;
		trace->duration[at] = op->duration;
	}
	return 0;
}

static void place_share(void *context, size_t share, size_t thread UNUSED)
{
	struct placer *placer = context;
	struct maker *maker = placer->maker;
	struct trace *trace = maker->trace;
	size_t steps[2] = { share * trace->n_steps / placer->n_shares,
			    (share + 1) * trace->n_steps / placer->n_shares };
	size_t dp = trace->job.dp, key, lane, p = 0;
	const struct trace_part *part;
	struct err err = ERR_INIT;
	int none = 0, r = 0;

	for (key = 0; key < trace->n_keys; key++) {
		double *row = trace_row(trace, trace->start, key);

		for (lane = steps[0] * dp; lane < steps[1] * dp; lane++)
			row[lane] = NAN;
	}
	for (part = maker->builder->parts; part && r == 0; part = part->next, p++)
		r = place_part(maker, part, maker->shape->place[p], steps, &err);
	if (r < 0 && atomic_compare_exchange_strong(&placer->r, &none, r))
		placer->err = err;
}

/* Later code indexes by stage: a stage without operations is an error. */
static int check_stages(const struct trace *trace, struct err *err)
{
	size_t key, stage = 0;

	for (key = 0; key < trace->n_keys; key++) {
		if (trace->keys[key].stage == stage)
			stage++;
	}
	if (stage == trace->job.pp)
		return 0;
	return err_set(err, EINVAL, "pp_size: %" PRIu32 ", but stage %zu has no operation",
		       trace->job.pp, stage);
}

static int place_all(struct maker *maker, struct err *err)
{
	struct trace *trace = maker->trace;
	size_t n = trace->n_keys * trace->n_lanes, n_threads = crew_threads();
	struct placer placer = { .maker = maker, .n_shares = MIN(n_threads, trace->n_steps) };

	trace->start = malloc(n * sizeof(*trace->start));
	trace->duration = malloc(n * sizeof(*trace->duration));
	if (!trace->start || !trace->duration)
		return err_set(err, ENOMEM, "no memory for %zu operations", n);
	crew_run(n_threads, placer.n_shares, place_share, &placer);
	return placer.r < 0 ? err_set(err, -placer.r, "%s", placer.err.msg) : 0;
}

void trace_shift(struct trace *trace)
{
	size_t step, key, d, dp = trace->job.dp;

	for (step = 0; step < trace->n_steps; step++) {
		double first = INFINITY;

		for (key = 0; key < trace->n_keys; key++) {
			const double *row = trace_row(trace, trace->start, key) + step * dp;

			for (d = 0; d < dp; d++)
				first = row[d] < first ? row[d] : first;
		}
		trace->began[step] += first;
		for (key = 0; key < trace->n_keys; key++) {
			double *row = trace_row(trace, trace->start, key) + step * dp;

			for (d = 0; d < dp; d++)
				row[d] -= first;
		}
	}
}

/* Too few steps for another window have their own error code: earlier windows are valid. */
static int check_steps(const struct trace_builder *builder, const struct shape *shape,
		       struct err *err)
{
	const struct trace_dropped *first = shape->dropped;
	int code = builder->n_windows ? ENODATA : EINVAL;

	if (shape->n_kept >= TRACE_STEPS_MIN)
		return 0;
	if (shape->n_dropped == 0)
		return err_set(err, code, "%zu steps are too few: at least %d are needed",
			       shape->n_kept, TRACE_STEPS_MIN);
	return err_set(err, code,
		       "%zu of %zu steps are complete, at least %d are needed: in step %" PRId64
		       " dp_rank %" PRIu32 " has %zu operations, not the %zu of most others",
		       shape->n_kept, shape->n_steps, TRACE_STEPS_MIN, first->step, first->dp_rank,
		       first->has, first->expected);
}

static int make(struct maker *maker, struct err *err)
{
	const struct shape *shape = maker->shape;
	struct trace *trace = maker->trace = xcalloc(1, sizeof(*trace));
	size_t i;
	int r;

	r = trace_job_copy(&maker->builder->job, &trace->job, err);
	if (r < 0)
		return r;
	trace->n_steps = shape->n_kept;
	trace->n_lanes = shape->n_kept * trace->job.dp;
	trace->steps = xcalloc(shape->n_kept, sizeof(*trace->steps));
	trace->began = xcalloc(shape->n_kept, sizeof(*trace->began));
	for (i = 0; i < shape->n_steps; i++) {
		if (shape->kept[i] != SHAPE_NONE)
			trace->steps[shape->kept[i]] = shape->steps[i];
	}
	r = number_codes(maker, err);
	if (r < 0)
		return r;
	take_template(maker);
	r = check_stages(trace, err);
	if (r == 0)
		r = place_all(maker, err);
	if (r < 0)
		return r;
	trace_shift(trace);
	trace->n_dropped = shape->n_dropped;
	trace->dropped = xcalloc(shape->n_dropped + 1, sizeof(*trace->dropped));
	memcpy(trace->dropped, shape->dropped, shape->n_dropped * sizeof(*trace->dropped));
	trace->window = maker->builder->n_windows;
	return 0;
}

/* Copy the ranks that operations stated into the job, and close it. */
static int take_ranks(struct trace_builder *builder, struct err *err)
{
	const struct trace_part *part;
	uint32_t pp = builder->job.pp;
	size_t i;
	int r;

	for (part = builder->parts; part; part = part->next) {
		for (i = 0; i < (size_t)builder->job.dp * pp; i++) {
			if (part->said[i].rank < 0)
				continue;
			r = trace_job_place(&builder->job, (int64_t)(i / pp), (int64_t)(i % pp),
					    part->said[i].rank, NULL, err);
			if (r < 0)
				return err_wrap(err, r, "line %" PRIu64,
						trace_builder_line(builder, part->said[i].block,
								   part->said[i].line));
		}
	}
	return trace_job_close(&builder->job, err);
}

static int build(struct trace_builder *builder, bool all_but_last, struct trace **ret_trace,
		 struct err *err)
{
	CLEANUP(shape_release) struct shape shape;
	CLEANUP(maker_release) struct maker maker = { .builder = builder, .shape = &shape };
	int r;

	r = shape_find(builder, all_but_last, &shape, err);
	if (r == 0)
		r = shape_check_twice(builder, &shape, err);
	if (r == 0)
		r = check_steps(builder, &shape, err);
	if (r == 0)
		r = take_ranks(builder, err);
	if (r == 0)
		r = make(&maker, err);
	if (r == 0)
		r = held_keep(builder, &shape, err);
	if (r < 0)
		return r;
	*ret_trace = TAKE(maker.trace);
	return 0;
}

int trace_build(struct trace_builder *builder, struct trace **ret_trace, struct err *err)
{
	return build(builder, false, ret_trace, err);
}

int trace_build_window(struct trace_builder *builder, struct trace **ret_trace, struct err *err)
{
	return build(builder, true, ret_trace, err);
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	trace_job_release(&trace->job);
	free(trace->keys);
	free(trace->steps);
	free(trace->began);
	free(trace->start);
	free(trace->duration);
	free(trace->dropped);
	free(trace);
}
