/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/pipeline.h"

#include "attribution/trace_build.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/pipe_1f1b.h"
#include "tests/unit/test.h"

/* Seconds of the operations around the computes; together PIPELINE_FIXED. */
#define GATHER 0.02
#define LAYERNORM 0.00004
#define EMBEDDING 0.002
#define SCATTER 0.04
#define CLIP 0.001
#define OPTIMIZER 0.003

struct writer {
	const struct pipeline *pipeline;
	struct pipe_ends *ends; /* [d] */
	struct trace_op *ops;
	size_t n, alloc;
	int64_t step, d, stage;
};

static void put(struct writer *w, enum optype type, int64_t seq, double start, double end)
{
	double scale = w->pipeline->scale > 0 ? w->pipeline->scale : 1;
	double clock = w->pipeline->clock > 0 ? w->pipeline->clock : 100;
	struct trace_op op = TRACE_OP_INIT;
	bool compute = optype_is_compute(type);

	op.step = w->step;
	op.dp_rank = w->d;
	op.stage = w->stage;
	op.seq_id = seq;
	op.type = (int)type;
	op.mb_id = compute ? seq : -1;
	op.mc = compute || type == OP_PARAMS_ALL_GATHER || type == OP_GRADS_REDUCE_SCATTER ? 0 : -1;
	op.start = clock * (double)w->step + start * scale;
	op.duration = (end - start) * scale;
	if (w->pipeline->change)
		w->pipeline->change(&op);
	if (w->n == w->alloc) {
		w->alloc = w->alloc ? w->alloc * 2 : 1024;
		w->ops = xrealloc(w->ops, w->alloc, sizeof(*w->ops));
	}
	w->ops[w->n++] = op;
}

/* Adds the operations to the builder, in the order given by the stride. */
static void add_all(const struct writer *w, struct trace_builder *builder)
{
	struct trace_part *part = trace_part_new(builder);
	size_t stride = w->pipeline->stride ? w->pipeline->stride : 1, first, at;
	struct err err = ERR_INIT;
	uint32_t line = 0;

	trace_part_begin(part, 0);
	for (first = 0; first < stride; first++) {
		for (at = first; at < w->n; at += stride)
			CHECK_EQ(trace_part_add(part, &w->ops[at], ++line, &err), 0);
	}
	trace_part_end(part, line);
	CHECK_STR(err.msg, "");
}

/* A receive is posted when the previous compute has ended, and ends with its send. */
static void put_transfer(struct writer *w, bool forward, int64_t i, double posted, double sent)
{
	double end = posted > sent ? posted : sent;

	put(w, forward ? OP_FORWARD_RECV : OP_BACKWARD_RECV, i, posted, end);
}

static void put_computes(struct writer *w, double shift)
{
	const struct pipeline *p = w->pipeline;
	const struct pipe_ends *ends = &w->ends[w->d];
	double factor = w->d == p->slow_dp && w->stage == p->slow_stage ? p->slow : 1;
	int64_t i, n = p->microbatches;

	for (i = 0; i < n; i++) {
		const double *f = ends->forward + w->stage * n + i;
		const double *b = ends->backward + w->stage * n + i;
		double before_f = i ? f[-1] + shift : 0, before_b = i ? b[-1] + shift : 0;

		put(w, OP_FORWARD_COMPUTE, i, *f + shift - p->forward * factor, *f + shift);
		put(w, OP_BACKWARD_COMPUTE, i, *b + shift - p->backward * factor, *b + shift);
		if (w->stage > 0) {
			double received = f[-n] + shift;

			put_transfer(w, true, i, before_f, received);
			put(w, OP_BACKWARD_SEND, i, *b + shift, *b + shift);
		}
		if (w->stage + 1 < p->pp) {
			double received = b[n] + shift;

			put_transfer(w, false, i, before_b, received);
			put(w, OP_FORWARD_SEND, i, *f + shift, *f + shift);
		}
	}
}

/* Returns when a worker has finished its computes and its own gradients. */
static double ready(const struct writer *w, int64_t d, int64_t stage)
{
	int64_t n = w->pipeline->microbatches;
	double gather = w->pipeline->dp > 1 ? GATHER : 0;

	return w->ends[d].backward[stage * n + n - 1] + gather + LAYERNORM;
}

/* Returns when a worker's gradients can be reduced; first and last stage share the embedding's. */
static double reduced(const struct writer *w, int64_t d, int64_t stage)
{
	int64_t last = w->pipeline->pp - 1;

	if (stage != 0 && stage != last)
		return ready(w, d, stage);
	return MAX(ready(w, d, 0), ready(w, d, last)) + EMBEDDING;
}

/* Returns when all DP ranks have reduced the gradients of a stage. */
static double scattered(const struct writer *w, int64_t stage)
{
	double latest = 0;
	int64_t d;

	for (d = 0; d < w->pipeline->dp; d++)
		latest = MAX(latest, reduced(w, d, stage));
	return latest + (w->pipeline->dp > 1 ? SCATTER : 0);
}

static void put_collectives(struct writer *w)
{
	double end = ready(w, w->d, w->stage), all = 0;
	bool edge = w->stage == 0 || w->stage + 1 == w->pipeline->pp;
	int64_t stage;

	for (stage = 0; stage < w->pipeline->pp; stage++)
		all = MAX(all, scattered(w, stage) + CLIP);
	put(w, OP_GC, 0, end - LAYERNORM, end - LAYERNORM);
	put(w, OP_LAYERNORM_GRADS, 0, end - LAYERNORM, end);
	if (edge)
		put(w, OP_EMBEDDING_GRADS, 0, end, reduced(w, w->d, w->stage));
	if (w->pipeline->dp > 1) {
		put(w, OP_PARAMS_ALL_GATHER, 0, 0, GATHER);
		put(w, OP_GRADS_REDUCE_SCATTER, 0, reduced(w, w->d, w->stage),
		    scattered(w, w->stage));
	}
	put(w, OP_CLIP_MAIN_GRAD, 0, scattered(w, w->stage), all);
	put(w, OP_OPTIMIZER, 0, all, all + OPTIMIZER);
}

/* Computes when each compute of a DP rank ends. */
static void play(const struct pipeline *p, uint32_t d, struct pipe_ends *ends)
{
	CLEANUP(freep) double *forward = xcalloc(p->pp, sizeof(double));
	CLEANUP(freep) double *backward = xcalloc(p->pp, sizeof(double));
	uint32_t stage;

	for (stage = 0; stage < p->pp; stage++) {
		double factor = d == p->slow_dp && stage == p->slow_stage ? p->slow : 1;

		forward[stage] = p->forward * factor;
		backward[stage] = p->backward * factor;
	}
	(void)pipe_1f1b(forward, backward, p->pp, p->microbatches, ends);
}

struct trace_builder *pipeline_builder(const struct pipeline *p)
{
	struct trace_job job = { .name = xstrdup("pipeline"),
				 .dp = p->dp,
				 .pp = p->pp,
				 .tp = 1,
				 .vpp = 1,
				 .dsp = 1,
				 .world = p->dp * p->pp };
	CLEANUP(freep) struct pipe_ends *ends = xcalloc(p->dp, sizeof(*ends));
	struct trace_builder *builder;
	struct err err = ERR_INIT;
	struct writer w = { .pipeline = p, .ends = ends };
	uint32_t i;

	CHECK_EQ(trace_job_open(&job, &err), 0);
	for (i = 0; i < p->dp * p->pp; i++) {
		const char node[] = { 's', (char)('0' + i % p->pp), '\0' };

		CHECK_EQ(trace_job_place(&job, i / p->pp, i % p->pp, i,
					 p->node_of_stage ? node : NULL, &err),
			 0);
	}
	builder = trace_builder_new(&job);
	for (i = 0; i < p->dp; i++)
		play(p, i, &ends[i]);
	for (w.step = 0; w.step < PIPELINE_STEPS; w.step++) {
		for (i = 0; i < p->dp * p->pp; i++) {
			w.d = i / p->pp;
			w.stage = i % p->pp;
			put_computes(&w, p->collectives && p->dp > 1 ? GATHER : 0);
			if (p->collectives)
				put_collectives(&w);
		}
	}
	add_all(&w, builder);
	free(w.ops);
	for (i = 0; i < p->dp; i++)
		pipe_1f1b_release(&ends[i]);
	return builder;
}

struct trace *pipeline_trace(const struct pipeline *p)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = pipeline_builder(p);
	struct trace *trace = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(trace_build(builder, &trace, &err), 0);
	CHECK_STR(err.msg, "");
	return trace;
}
