/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/attribution/as_trace.h"

#include <stdlib.h>

#include "attribution/trace_build.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* A simulated job that cannot be read is a bug of the test. */
static void must(int r)
{
	if (r < 0)
		abort();
}

static enum optype optype_of(int type)
{
	static const enum optype types[JOB_TYPES] = {
		OP_FORWARD_COMPUTE,
		OP_BACKWARD_COMPUTE,
		OP_FORWARD_SEND,
		OP_BACKWARD_SEND,
		OP_FORWARD_RECV,
		OP_BACKWARD_RECV,
		OP_PARAMS_ALL_GATHER,
		OP_GRADS_REDUCE_SCATTER,
		OP_LAYERNORM_GRADS,
		OP_EMBEDDING_GRADS,
		OP_CLIP_MAIN_GRAD,
		OP_OPTIMIZER,
		OP_GC,
	};

	return types[type];
}

static struct trace_builder *builder_of(const struct job *job)
{
	struct trace_job shape = {
		.dp = (uint32_t)job->dp,
		.pp = (uint32_t)job->pp,
		.tp = (uint32_t)job->tp,
		.vpp = (uint32_t)job->vpp,
		.dsp = 1,
		.world = (uint64_t)(job->dp * job->pp * job->tp),
	};
	struct err err = ERR_INIT;
	int d, p;

	must(trace_job_open(&shape, &err));
	for (d = 0; d < job->dp; d++) {
		for (p = 0; p < job->pp; p++) {
			CLEANUP(freep) char *node = xasprintf("n%03d", job_node(job, d, p));

			must(trace_job_place(&shape, d, p, job_rank(job, d, p), node, &err));
		}
	}
	return trace_builder_new(&shape);
}

struct trace *job_as_trace(const struct job *job)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(job);
	CLEANUP(freep) struct job_op *ops = xcalloc(job_ops_max(job), sizeof(*ops));
	struct trace_part *part = trace_part_new(builder);
	struct trace *trace = NULL;
	struct err err = ERR_INIT;
	uint32_t line = 0;
	size_t n, i;
	int step;

	trace_part_begin(part, 0);
	for (step = 0; step < job->steps; step++) {
		n = job_play(job, step, ops);
		for (i = 0; i < n; i++) {
			struct trace_op op = TRACE_OP_INIT;

			op.step = job->first_step + step * job->step_gap;
			op.dp_rank = ops[i].d;
			op.stage = ops[i].p;
			op.seq_id = ops[i].seq;
			op.mb_id = ops[i].mb;
			op.mc = ops[i].mc;
			op.type = (int)optype_of(ops[i].type);
			op.start = (double)ops[i].start / 1e9;
			op.duration = (double)(ops[i].end - ops[i].start) / 1e9;
			must(trace_part_add(part, &op, ++line, &err));
		}
	}
	trace_part_end(part, line);
	must(trace_build(builder, &trace, &err));
	return trace;
}
