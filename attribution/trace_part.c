/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/trace_part.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { FIRST_TABLE = 64 };

struct trace_builder *trace_builder_new(struct trace_job *job)
{
	struct trace_builder *builder = xcalloc(1, sizeof(*builder));

	builder->job = *job;
	*job = (struct trace_job){ 0 };
	return builder;
}

static void part_free(struct trace_part *part)
{
	trace_part_clear(part);
	free(part->chunks);
	free(part->runs);
	free(part->blocks);
	free(part->steps);
	free(part->step_table);
	free(part->extent);
	free(part->said);
	free(part);
}

void trace_builder_free(struct trace_builder *builder)
{
	struct trace_part *part;

	if (!builder)
		return;
	while ((part = builder->parts)) {
		builder->parts = part->next;
		part_free(part);
	}
	trace_job_release(&builder->job);
	free(builder->built);
	free(builder);
}

const struct trace_job *trace_builder_job(const struct trace_builder *builder)
{
	return &builder->job;
}

struct trace_part *trace_part_new(struct trace_builder *builder)
{
	size_t n = (size_t)builder->job.dp * builder->job.pp;
	struct trace_part *part = xcalloc(1, sizeof(*part));
	size_t i;

	part->job = &builder->job;
	part->extent = xcalloc((size_t)builder->job.pp * OPTYPE_N, sizeof(*part->extent));
	part->said = xcalloc(n, sizeof(*part->said));
	for (i = 0; i < n; i++)
		part->said[i].rank = -1;
	part->table_size = FIRST_TABLE;
	part->step_table = xcalloc(part->table_size, sizeof(*part->step_table));
	part->next = builder->parts;
	builder->parts = part;
	return part;
}

void trace_part_begin(struct trace_part *part, uint32_t block)
{
	part->block = block;
	part->next_line = 0;
}

void trace_part_end(struct trace_part *part, uint32_t lines)
{
	if (part->n_blocks == part->blocks_alloc) {
		part->blocks_alloc = MAX(part->blocks_alloc * 2, (size_t)16);
		part->blocks = xrealloc(part->blocks, part->blocks_alloc, sizeof(*part->blocks));
	}
	part->blocks[part->n_blocks++] = (struct held_block){ part->block, lines };
}

uint64_t trace_builder_line(const struct trace_builder *builder, uint32_t block, uint32_t line)
{
	const struct trace_part *part;
	uint64_t at = line;
	size_t i;

	for (part = builder->parts; part; part = part->next) {
		for (i = 0; i < part->n_blocks; i++)
			at += part->blocks[i].block < block ? part->blocks[i].lines : 0;
	}
	return at;
}

size_t trace_builder_count(const struct trace_builder *builder)
{
	const struct trace_part *part;
	size_t n = 0;

	for (part = builder->parts; part; part = part->next)
		n += part->n_ops;
	return n;
}

struct held_run trace_part_place(const struct trace_part *part, size_t i)
{
	size_t low = 0, high = part->n_runs;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (part->runs[middle].first <= i)
			low = middle;
		else
			high = middle;
	}
	return (struct held_run){
		.first = i,
		.block = part->runs[low].block,
		.line = part->runs[low].line + (uint32_t)(i - part->runs[low].first),
	};
}

uint64_t trace_part_line(const struct trace_builder *builder, const struct trace_part *part,
			 size_t i)
{
	struct held_run place = trace_part_place(part, i);

	return trace_builder_line(builder, place.block, place.line);
}

void trace_part_clear(struct trace_part *part)
{
	size_t i;

	for (i = 0; i < part->n_chunks; i++)
		free(part->chunks[i]);
	part->n_chunks = part->n_ops = part->n_runs = part->n_steps = 0;
	part->last_step = 0;
	part->next_line = 0;
	memset(part->extent, 0, (size_t)part->job->pp * OPTYPE_N * sizeof(*part->extent));
	memset(part->step_table, 0, part->table_size * sizeof(*part->step_table));
}

static size_t step_slot(const struct trace_part *part, int64_t step)
{
	size_t at = (size_t)((uint64_t)step * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (at &= part->table_size - 1; part->step_table[at];
	     at = (at + 1) & (part->table_size - 1)) {
		if (part->steps[part->step_table[at] - 1] == step)
			break;
	}
	return at;
}

static void grow_table(struct trace_part *part)
{
	size_t i;

	free(part->step_table);
	part->table_size *= 2;
	part->step_table = xcalloc(part->table_size, sizeof(*part->step_table));
	for (i = 0; i < part->n_steps; i++)
		part->step_table[step_slot(part, part->steps[i])] = (uint32_t)i + 1;
}

int64_t trace_part_step(struct trace_part *part, int64_t step)
{
	size_t slot = step_slot(part, step);

	if (part->step_table[slot])
		return part->step_table[slot] - 1;
	if (part->n_steps == TRACE_STEPS_MAX)
		return -1;
	if (part->n_steps == part->steps_alloc) {
		part->steps_alloc = MAX(part->steps_alloc * 2, (size_t)64);
		part->steps = xrealloc(part->steps, part->steps_alloc, sizeof(*part->steps));
	}
	part->steps[part->n_steps++] = step;
	part->step_table[slot] = (uint32_t)part->n_steps;
	if (part->n_steps * 2 > part->table_size)
		grow_table(part);
	return (int64_t)part->n_steps - 1;
}

int trace_part_append(struct trace_part *part, const struct held_op *op, uint32_t block,
		      uint32_t line, struct err *err)
{
	uint32_t *extent = &part->extent[(size_t)op->stage * OPTYPE_N + op->type];

	if (part->n_ops == part->n_chunks * OPS_PER_CHUNK) {
		part->chunks = xrealloc(part->chunks, part->n_chunks + 1, sizeof(struct held_op *));
		part->chunks[part->n_chunks] = malloc(OPS_PER_CHUNK * sizeof(struct held_op));
		if (!part->chunks[part->n_chunks])
			return err_set(err, ENOMEM, "no memory after %zu operations", part->n_ops);
		part->n_chunks++;
	}
	if (line != part->next_line || block != part->block || part->n_runs == 0) {
		if (part->n_runs == part->runs_alloc) {
			part->runs_alloc = MAX(part->runs_alloc * 2, (size_t)64);
			part->runs = xrealloc(part->runs, part->runs_alloc, sizeof(*part->runs));
		}
		part->runs[part->n_runs++] = (struct held_run){ part->n_ops, block, line };
		part->block = block;
	}
	part->next_line = line + 1;
	*trace_part_at(part, part->n_ops++) = *op;
	*extent = MAX(*extent, op->seq + 1);
	return 0;
}

/* Describe the bad field; only called if there is one. */
static int bad_field(const struct trace_job *job, const struct trace_op *op, struct err *err)
{
	const struct {
		const char *name;
		int64_t value, least, most;
	} rows[] = {
		{ "dp_rank", op->dp_rank, 0, (int64_t)job->dp - 1 },
		{ "stage", op->stage, 0, (int64_t)job->pp - 1 },
		{ "seq_id", op->seq_id, 0, TRACE_SEQ_MAX },
		{ "mb_id", op->mb_id, -1, TRACE_MICROBATCH_MAX },
		{ "mc", op->mc, -1, (int64_t)job->vpp - 1 },
		{ "rank", op->rank, -1, (int64_t)job->world - 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].value < rows[i].least || rows[i].value > rows[i].most)
			return err_set(err, EINVAL,
				       "%s: %" PRId64 " is outside %" PRId64 " to %" PRId64,
				       rows[i].name, rows[i].value, rows[i].least, rows[i].most);
	}
	if (op->type < 0 || op->type >= OPTYPE_N)
		return err_set(err, EINVAL, "optype: no such operation");
	if (!isfinite(op->start) || fabs(op->start) > TRACE_START_MAX)
		return err_set(err, EINVAL, "start_ts: %g is not a time in seconds", op->start);
	return err_set(err, EINVAL, "duration: %g is outside 0 to %g seconds", op->duration,
		       TRACE_DURATION_MAX);
}

/* Written so that NAN is out of range. */
static bool fields_are_good(const struct trace_job *job, const struct trace_op *op)
{
	return (uint64_t)op->dp_rank < job->dp && (uint64_t)op->stage < job->pp &&
	       (uint64_t)op->seq_id <= TRACE_SEQ_MAX && op->mb_id >= -1 &&
	       op->mb_id <= TRACE_MICROBATCH_MAX && op->mc >= -1 && op->mc < (int64_t)job->vpp &&
	       op->rank >= -1 && op->rank < (int64_t)job->world && op->type >= 0 &&
	       op->type < OPTYPE_N && op->start >= -TRACE_START_MAX &&
	       op->start <= TRACE_START_MAX && op->duration >= 0 &&
	       op->duration <= TRACE_DURATION_MAX;
}

static int check_rank(struct trace_part *part, const struct trace_op *op, uint32_t line,
		      struct err *err)
{
	size_t worker = (size_t)op->dp_rank * part->job->pp + (size_t)op->stage;
	struct said_rank *said = &part->said[worker];
	int32_t known = part->job->workers[worker].rank;

	if (said->rank < 0 && known < 0)
		*said = (struct said_rank){ (int32_t)op->rank, part->block, line };
	if (known < 0)
		known = said->rank;
	if (known == op->rank)
		return 0;
	return err_set(err, EINVAL,
		       "rank: %" PRId64 " for dp_rank %" PRId64 " and stage %" PRId64
		       ", which is rank %" PRId32,
		       op->rank, op->dp_rank, op->stage, known);
}

static int check_chunk(const struct trace_job *job, const struct trace_op *op, struct err *err)
{
	int64_t gmc = op->mc * (int64_t)job->pp + op->stage;

	if (op->gmc < 0 || op->mc < 0 || op->gmc == gmc)
		return 0;
	return err_set(err, EINVAL, "gmc: %" PRId64 " is not mc * pp_size + stage = %" PRId64,
		       op->gmc, gmc);
}

int trace_part_add(struct trace_part *part, const struct trace_op *op, uint32_t line,
		   struct err *err)
{
	struct held_op held;
	int64_t place;
	int r;

	if (!fields_are_good(part->job, op))
		return bad_field(part->job, op, err);
	r = op->rank >= 0 ? check_rank(part, op, line, err) : 0;
	if (r == 0)
		r = check_chunk(part->job, op, err);
	if (r < 0)
		return r;
	if (part->n_steps == 0 || part->steps[part->last_step] != op->step) {
		place = trace_part_step(part, op->step);
		if (place < 0)
			return err_set(err, EINVAL, "step: more than %d different steps",
				       TRACE_STEPS_MAX);
		part->last_step = (uint32_t)place;
	}
	held = (struct held_op){
		.start = op->start,
		.duration = op->duration,
		.seq = (uint32_t)op->seq_id,
		.step = part->last_step,
		.dp_rank = (uint16_t)op->dp_rank,
		.stage = (uint16_t)op->stage,
		.mb = (int16_t)op->mb_id,
		.type = (uint8_t)op->type,
		.mc = (int8_t)op->mc,
	};
	return trace_part_append(part, &held, part->block, line, err);
}
