/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a job in memory, and how a reader fills it.
 *
 *	struct trace_job job = ...;                     the shape, from the meta line or file
 *	builder = trace_builder_new(&job, &err);
 *	part = trace_part_new(builder);                 one for each thread that reads
 *	trace_part_begin(part, 0);                      a block of lines: 0, 1, 2 ... in file order
 *	trace_part_add(part, &op, line, &err);          operations in any order
 *	trace_part_end(part, lines);
 *	trace_build(builder, &trace, &err);
 *
 * Steps are independent and have the same operations: an operation's stage, type and seq_id are
 * its *key*; a *lane* is one data-parallel rank in one step. The operations of most lanes are the
 * template. A step with a lane that differs is dropped and listed. So a trace is a complete table
 * of keys by lanes: start[key * n_lanes + step * dp + d].
 *
 * Parts are independent until trace_build(): each belongs to one thread. Lines count from 1
 * within their block; the line number in the file is known once all blocks before have ended, so
 * a reader that splits the file at line ends need not count first. Until the table is built each
 * operation takes 32 bytes.
 */
#pragma once

#include <stdint.h>

#include "attribution/optype.h"
#include "attribution/trace_job.h"
#include "lib/base/macro.h"

struct err;

enum {
	TRACE_DP_MAX = 16384,	      /* data-parallel ranks */
	TRACE_PP_MAX = 1024,	      /* stages */
	TRACE_WORKERS_MAX = 1 << 18,  /* product of both */
	TRACE_VPP_MAX = 64,	      /* model chunks per stage */
	TRACE_MICROBATCH_MAX = 32767, /* largest mb_id */
	TRACE_SEQ_MAX = 1 << 22,      /* largest seq_id */
	TRACE_STEPS_MAX = 1 << 20,    /* distinct steps */
	TRACE_STEPS_MIN = 3,	      /* fewer are useless */
	TRACE_NAME_MAX = 256,	      /* bytes of the name of a job or node */
};

/* Seconds. Larger values are not times of a training job. */
#define TRACE_DURATION_MAX 1e6
#define TRACE_START_MAX 1e13

/* One operation as a reader found it. */
struct trace_op {
	int64_t step, dp_rank, stage, seq_id;
	int64_t rank;		/* -1: not given */
	int64_t mb_id;		/* -1: none */
	int64_t mc, gmc;	/* model chunk in the stage and in the job; -1: none */
	int type;		/* enum optype */
	double start, duration; /* seconds */
};

#define TRACE_OP_INIT                                                       \
	{                                                                   \
		.rank = -1, .mb_id = -1, .mc = -1, .gmc = -1, .seq_id = -1, \
	}

struct trace_builder;
struct trace_part;

/* Create a builder; moves the job into it. Never NULL. */
struct trace_builder *trace_builder_new(struct trace_job *job);
void trace_builder_free(struct trace_builder *builder);
DEFINE_CLEANUP(struct trace_builder *, trace_builder_free, trace_builder_freep);

/* The job as far as it is known. Borrowed. */
const struct trace_job *trace_builder_job(const struct trace_builder *builder);

/* New part, owned by the builder; not thread-safe. Never NULL. */
struct trace_part *trace_part_new(struct trace_builder *builder);

/*
 * Start block number `block`: blocks are numbered from 0 in file order, and each is given to one
 * part.
 */
void trace_part_begin(struct trace_part *part, uint32_t block);

/*
 * Add an operation from line `line` (from 1) of the block. -EINVAL with the reason, without the
 * line: an impossible type, size or time, coordinates outside the shape, the rank of another
 * worker. -ENOMEM.
 */
int trace_part_add(struct trace_part *part, const struct trace_op *op, uint32_t line,
		   struct err *err);

/* End the block, which had `lines` lines. */
void trace_part_end(struct trace_part *part, uint32_t lines);

/*
 * Convert a block's line number to the file's; all blocks before it must have ended. Not while
 * another thread uses a part.
 */
uint64_t trace_builder_line(const struct trace_builder *builder, uint32_t block, uint32_t line);

/* Operations added and not yet built. Not while another thread uses a part. */
size_t trace_builder_count(const struct trace_builder *builder);

struct trace_key {
	uint32_t seq;
	uint16_t stage;
	int16_t mb;   /* micro-batch of a compute operation, else -1 */
	uint8_t type; /* enum optype */
	int8_t mc;    /* model chunk in the stage, else -1 */
};

/* The key's model chunk in the job, or -1. */
static inline int trace_gmc(const struct trace_key *key, uint32_t pp)
{
	return key->mc < 0 ? -1 : key->mc * (int)pp + key->stage;
}

/* A step that was left out. */
struct trace_dropped {
	int64_t step;
	uint32_t dp_rank;     /* the first that differs */
	size_t has, expected; /* operations of that rank in this step, and of the template */
};

struct trace {
	struct trace_job job;
	struct trace_key *keys; /* by stage, type, seq */
	size_t n_keys;
	int64_t *steps;		       /* ascending */
	size_t n_steps, n_lanes;       /* n_lanes = n_steps * dp */
	double *start, *duration;      /* [key][step][dp]; each step starts at 0 */
	double *began;		       /* [step]: start of the step on the trace's clock, seconds */
	struct trace_dropped *dropped; /* by step */
	size_t n_dropped;
	size_t window; /* from 0: index of this part of a long trace */
};

/* A key's row in a table. */
static inline double *trace_row(const struct trace *trace, double *table, size_t key)
{
	return table + key * trace->n_lanes;
}
