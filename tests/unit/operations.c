/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/operations.h"

#include "attribution/trace_build.h"
#include "attribution/trace_job.h"
#include "tests/unit/test.h"

struct result graph_of(struct shape shape, const struct row *rows, size_t n)
{
	struct trace_job job = { .dp = shape.dp,
				 .pp = shape.pp,
				 .tp = 1,
				 .vpp = shape.vpp,
				 .dsp = 1,
				 .world = shape.dp * shape.pp };
	struct result result = { .err = ERR_INIT };
	CLEANUP(trace_builder_freep) struct trace_builder *builder = NULL;
	struct trace_part *part;
	uint32_t i, lane;

	CHECK_EQ(trace_job_open(&job, &result.err), 0);
	for (i = 0; i < shape.dp * shape.pp; i++)
		CHECK_EQ(trace_job_place(&job, i / shape.pp, i % shape.pp, i, NULL, &result.err), 0);
	builder = trace_builder_new(&job);
	part = trace_part_new(builder);
	trace_part_begin(part, 0);
	for (lane = 0; lane < OPERATIONS_STEPS * shape.dp; lane++) {
		for (i = 0; i < n; i++) {
			struct trace_op op = TRACE_OP_INIT;

			op.step = lane / shape.dp;
			op.dp_rank = lane % shape.dp;
			op.stage = rows[i].stage;
			op.type = (int)rows[i].type;
			op.seq_id = rows[i].seq;
			op.mb_id = optype_is_compute(rows[i].type) ? rows[i].seq : -1;
			op.mc = rows[i].mc;
			op.start = rows[i].start;
			op.duration = rows[i].end - rows[i].start;
			CHECK_EQ(trace_part_add(part, &op, lane * (uint32_t)n + i + 1, &result.err),
				 0);
		}
	}
	CHECK_EQ(trace_build(builder, &result.trace, &result.err), 0);
	CHECK_STR(result.err.msg, "");
	if (result.trace)
		result.r = graph_new(result.trace, &result.graph, &result.err);
	return result;
}

void result_release(struct result *result)
{
	graph_free(result->graph);
	trace_free(result->trace);
}

uint32_t key_of(const struct result *result, uint32_t stage, enum optype type, uint32_t seq)
{
	uint32_t i;

	for (i = 0; i < result->trace->n_keys; i++) {
		const struct trace_key *key = &result->trace->keys[i];

		if (key->stage == stage && key->type == type && key->seq == seq)
			return i;
	}
	CHECK_EQ(seq, -1); /* fails: there is no such key */
	return 0;
}

bool waits(const struct result *result, uint32_t key, uint32_t from)
{
	const struct graph *graph = result->graph;
	uint32_t i;

	for (i = graph->first[key]; i < graph->first[key + 1]; i++) {
		if (graph->deps[i] == from)
			return true;
	}
	return false;
}

size_t n_waits(const struct result *result, uint32_t key)
{
	return result->graph->first[key + 1] - result->graph->first[key];
}

const struct graph_unit *unit_of(const struct result *result, uint32_t key)
{
	const struct graph *graph = result->graph;
	size_t i, m;

	for (i = 0; i < graph->n_units; i++) {
		for (m = 0; m < graph->units[i].n_members; m++) {
			if (graph->members[graph->units[i].first_member + m] == key)
				return &graph->units[i];
		}
	}
	return NULL;
}
