/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations as they are held until the table is made: 32 bytes each, in chunks, with the lines
 * that they came from. trace_shape.h finds what they have in common, trace_build.c makes the table.
 */
#pragma once

#include "attribution/trace.h"
#include "attribution/trace_job.h"

enum { OPS_PER_CHUNK = 1 << 15 }; /* 1 MiB */

/* An operation in 32 bytes. */
struct held_op {
	double start, duration;
	uint32_t seq;
	uint32_t step; /* place among the steps of its part */
	uint16_t dp_rank, stage;
	int16_t mb;
	uint8_t type;
	int8_t mc;
};

/* The operations from number `first` of a part are on consecutive lines. */
struct held_run {
	size_t first;
	uint32_t block, line;
};

struct held_block {
	uint32_t block, lines;
};

/* The rank a worker said to have, and where. */
struct said_rank {
	int32_t rank; /* -1: none */
	uint32_t block, line;
};

struct trace_part {
	const struct trace_job *job; /* of the builder */
	struct trace_part *next;
	struct held_op **chunks;
	size_t n_chunks, n_ops;
	struct held_run *runs;
	size_t n_runs, runs_alloc;
	struct held_block *blocks;
	size_t n_blocks, blocks_alloc;
	uint32_t block;	    /* now */
	uint32_t next_line; /* that would go on with the last run */
	int64_t *steps;	    /* in the order in which they came */
	size_t n_steps, steps_alloc;
	uint32_t *step_table;	/* finds a step: place + 1, open addressing */
	size_t table_size;	/* a power of two */
	uint32_t last_step;	/* most lines are of the step of the line before */
	uint32_t *extent;	/* [stage * OPTYPE_N + type]: largest seq_id + 1 */
	struct said_rank *said; /* [worker] */
};

struct trace_builder {
	struct trace_job job;
	struct trace_part *parts; /* newest first */
	int64_t *built;		  /* steps of windows before, ascending */
	size_t n_built;
	size_t n_windows;
};

static inline struct held_op *trace_part_at(const struct trace_part *part, size_t i)
{
	return &part->chunks[i / OPS_PER_CHUNK][i % OPS_PER_CHUNK];
}

/* Where operation `i` of a part is in the file. */
uint64_t trace_part_line(const struct trace_builder *builder, const struct trace_part *part,
			 size_t i);

/* The block and line of operation `i` of a part. */
struct held_run trace_part_place(const struct trace_part *part, size_t i);

/* Put an operation at the end of the part as of this line. -ENOMEM. */
int trace_part_append(struct trace_part *part, const struct held_op *op, uint32_t block,
		      uint32_t line, struct err *err);

/* Forget all operations and steps but not the lines of blocks and what ranks were said. */
void trace_part_clear(struct trace_part *part);

/* The place of a step among those of the part, which takes it in; -1 when there are too many. */
int64_t trace_part_step(struct trace_part *part, int64_t step);
