/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage of operations until the table is built: 32 bytes each, in chunks, with their line
 * numbers. trace_shape.h finds what they have in common, trace_build.c builds the table.
 */
#pragma once

#include "attribution/trace.h"
#include "attribution/trace_job.h"

enum { OPS_PER_CHUNK = 1 << 15 }; /* 1 MiB */

/* An operation in 32 bytes. */
struct held_op {
	double start, duration;
	uint32_t seq;
	uint32_t step; /* index in the steps of its part */
	uint16_t dp_rank, stage;
	int16_t mb;
	uint8_t type;
	int8_t mc;
};

/* The operations of a part from index `first` on are on consecutive lines. */
struct held_run {
	size_t first;
	uint32_t block, line;
};

struct held_block {
	uint32_t block, lines;
};

/* The rank given for a worker, and where. */
struct said_rank {
	int32_t rank; /* -1: none */
	uint32_t block, line;
};

struct trace_part {
	const struct trace_job *job; /* the builder's */
	struct trace_part *next;
	struct held_op **chunks;
	size_t n_chunks, n_ops;
	struct held_run *runs;
	size_t n_runs, runs_alloc;
	struct held_block *blocks;
	size_t n_blocks, blocks_alloc;
	uint32_t block;	    /* current */
	uint32_t next_line; /* line that would continue the last run */
	int64_t *steps;	    /* in order of appearance */
	size_t n_steps, steps_alloc;
	uint32_t *step_table;	/* hash table of steps: index + 1, open addressing */
	size_t table_size;	/* a power of two */
	uint32_t last_step;	/* cache: most lines are of the same step as the previous one */
	uint32_t *extent;	/* [stage * OPTYPE_N + type]: largest seq_id + 1 */
	struct said_rank *said; /* [worker] */
};

struct trace_builder {
	struct trace_job job;
	struct trace_part *parts; /* newest first */
	int64_t *built;		  /* steps of previous windows, ascending */
	size_t n_built;
	size_t n_windows;
};

static inline struct held_op *trace_part_at(const struct trace_part *part, size_t i)
{
	return &part->chunks[i / OPS_PER_CHUNK][i % OPS_PER_CHUNK];
}

/* Line number in the file of operation `i` of a part. */
uint64_t trace_part_line(const struct trace_builder *builder, const struct trace_part *part,
			 size_t i);

/* Block and line of operation `i` of a part. */
struct held_run trace_part_place(const struct trace_part *part, size_t i);

/* Append an operation from this line to the part. -ENOMEM. */
int trace_part_append(struct trace_part *part, const struct held_op *op, uint32_t block,
		      uint32_t line, struct err *err);

/* Drop all operations and steps, but keep the line counts of blocks and the ranks. */
void trace_part_clear(struct trace_part *part);

/* Index of a step in the part, added if new; -1 if there are too many. */
int64_t trace_part_step(struct trace_part *part, int64_t step);
