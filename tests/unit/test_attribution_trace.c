/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>

#include "attribution/trace.h"
#include "attribution/trace_build.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static struct trace_job job_of(uint32_t dp, uint32_t pp)
{
	return (struct trace_job){ .name = xstrdup("job"),
				   .dp = dp,
				   .pp = pp,
				   .tp = 1,
				   .vpp = 1,
				   .dsp = 1,
				   .world = dp * pp };
}

/* A builder whose workers have the rank stage + pp * dp_rank. */
static struct trace_builder *builder_of(uint32_t dp, uint32_t pp)
{
	struct trace_job job = job_of(dp, pp);
	struct err err = ERR_INIT;
	uint32_t i;

	CHECK_EQ(trace_job_open(&job, &err), 0);
	for (i = 0; i < dp * pp; i++)
		CHECK_EQ(trace_job_place(&job, i / pp, i % pp, i, NULL, &err), 0);
	CHECK_STR(err.msg, "");
	return trace_builder_new(&job);
}

static struct trace_op op_of(int64_t step, int64_t dp_rank, int64_t stage, int64_t seq)
{
	struct trace_op op = TRACE_OP_INIT;

	op.step = step;
	op.dp_rank = dp_rank;
	op.stage = stage;
	op.seq_id = op.mb_id = seq;
	op.mc = 0;
	op.type = OP_FORWARD_COMPUTE;
	op.start = 1000.0 * (double)step + (double)seq;
	op.duration = 0.5 + (double)dp_rank;
	return op;
}

/* Three steps of two lanes of two operations, in the order given by `from`. */
static void add_all(struct trace_part *part, uint32_t from)
{
	struct err err = ERR_INIT;
	uint32_t i;

	for (i = 0; i < 12; i++) {
		uint32_t at = (i * 5 + from) % 12; /* 5 and 12 have no common factor */
		struct trace_op op = op_of(10 + at / 4, at / 2 % 2, 0, at % 2);

		CHECK_EQ(trace_part_add(part, &op, i + 1, &err), 0);
	}
	CHECK_STR(err.msg, "");
}

static void operations_in_any_order_make_a_table(void)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(2, 1);
	CLEANUP(trace_freep) struct trace *trace = NULL;
	struct trace_part *part = trace_part_new(builder);
	struct err err = ERR_INIT;
	size_t key, step, d;

	trace_part_begin(part, 0);
	add_all(part, 7);
	trace_part_end(part, 12);
	CHECK_EQ(trace_builder_count(builder), 12);
	CHECK_EQ(trace_build(builder, &trace, &err), 0);
	CHECK_STR(err.msg, "");
	if (!trace)
		return;
	CHECK_EQ(trace->n_keys, 2);
	CHECK_EQ(trace->n_steps, 3);
	CHECK_EQ(trace->n_lanes, 6);
	CHECK_EQ(trace->steps[2], 12);
	for (key = 0; key < 2; key++) {
		CHECK_EQ(trace->keys[key].seq, key);
		for (step = 0; step < 3; step++) {
			for (d = 0; d < 2; d++) {
				size_t at = step * 2 + d;

				CHECK_NEAR(trace_row(trace, trace->start, key)[at], (double)key, 0);
				CHECK_NEAR(trace_row(trace, trace->duration, key)[at],
					   0.5 + (double)d, 0);
			}
		}
	}
	CHECK_EQ(trace_builder_count(builder), 0);
}

static void parts_and_blocks_count_lines_together(void)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(2, 1);
	struct trace_part *first = trace_part_new(builder), *second = trace_part_new(builder);
	struct trace_op op = op_of(10, 0, 0, 0);
	struct trace *trace = NULL;
	struct err err = ERR_INIT;

	trace_part_begin(second, 1);
	add_all(second, 0);
	trace_part_end(second, 12);
	trace_part_begin(first, 0);
	CHECK_EQ(trace_part_add(first, &op, 3, &err), 0);
	trace_part_end(first, 5);
	CHECK_EQ(trace_builder_line(builder, 1, 2), 7);
	CHECK_EQ(trace_build(builder, &trace, &err), -EINVAL);
	CHECK_STR(err.msg, "line 6: forward-compute 0 of stage 0, dp_rank 0, step 10 appears twice"
			   " (line 3 has it too)");
	CHECK(!trace);
}

static void a_step_with_another_lane_is_dropped_and_listed(void)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(2, 1);
	CLEANUP(trace_freep) struct trace *trace = NULL;
	struct trace_part *part = trace_part_new(builder);
	struct trace_op op = op_of(7, 1, 0, 0);
	struct err err = ERR_INIT;

	trace_part_begin(part, 0);
	CHECK_EQ(trace_part_add(part, &op, 1, &err), 0);
	add_all(part, 0);
	CHECK_EQ(trace_build(builder, &trace, &err), 0);
	if (!trace)
		return;
	CHECK_EQ(trace->n_steps, 3);
	CHECK_EQ(trace->n_dropped, 1);
	CHECK_EQ(trace->dropped[0].step, 7);
	CHECK_EQ(trace->dropped[0].dp_rank, 0);
	CHECK_EQ(trace->dropped[0].has, 0);
	CHECK_EQ(trace->dropped[0].expected, 2);
}

static void fields_that_cannot_be_are_named(void)
{
	static const struct {
		size_t offset;
		int64_t value;
		const char *message;
	} rows[] = {
		{ offsetof(struct trace_op, dp_rank), 2, "dp_rank: 2 is outside 0 to 1" },
		{ offsetof(struct trace_op, dp_rank), -1, "dp_rank: -1 is outside 0 to 1" },
		{ offsetof(struct trace_op, stage), 1, "stage: 1 is outside 0 to 0" },
		{ offsetof(struct trace_op, seq_id), -1, "seq_id: -1 is outside 0 to 4194304" },
		{ offsetof(struct trace_op, mb_id), 40000, "mb_id: 40000 is outside -1 to 32767" },
		{ offsetof(struct trace_op, mc), 1, "mc: 1 is outside -1 to 0" },
		{ offsetof(struct trace_op, rank), 9, "rank: 9 is outside -1 to 1" },
		{ offsetof(struct trace_op, rank), 1,
		  "rank: 1 for dp_rank 0 and stage 0, which is rank 0" },
		{ offsetof(struct trace_op, gmc), 1, "gmc: 1 is not mc * pp_size + stage = 0" },
	};
	static const struct {
		double start, duration;
		const char *message;
	} times[] = {
		{ NAN, 1, "start_ts: nan is not a time in seconds" },
		{ INFINITY, 1, "start_ts: inf is not a time in seconds" },
		{ 0, NAN, "duration: nan is outside 0 to 1e+06 seconds" },
		{ 0, -1e-9, "duration: -1e-09 is outside 0 to 1e+06 seconds" },
		{ 0, 2e6, "duration: 2e+06 is outside 0 to 1e+06 seconds" },
	};
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(2, 1);
	struct trace_part *part = trace_part_new(builder);
	size_t i;

	trace_part_begin(part, 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct trace_op op = op_of(1, 0, 0, 0);
		struct err err = ERR_INIT;

		memcpy((char *)&op + rows[i].offset, &rows[i].value, sizeof(rows[i].value));
		CHECK_EQ(trace_part_add(part, &op, 1, &err), -EINVAL);
		CHECK_STR(err.msg, rows[i].message);
	}
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		struct trace_op op = op_of(1, 0, 0, 0);
		struct err err = ERR_INIT;

		op.start = times[i].start;
		op.duration = times[i].duration;
		CHECK_EQ(trace_part_add(part, &op, 1, &err), -EINVAL);
		CHECK_STR(err.msg, times[i].message);
	}
	CHECK_EQ(trace_builder_count(builder), 0);
}

static void what_is_too_little_is_refused(void)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(2, 1);
	struct trace_part *part = trace_part_new(builder);
	struct trace *trace = NULL;
	struct err err = ERR_INIT;
	uint32_t i;

	CHECK_EQ(trace_build(builder, &trace, &err), -EINVAL);
	CHECK_STR(err.msg, "no operation");
	trace_part_begin(part, 0);
	for (i = 0; i < 4; i++) {
		struct trace_op op = op_of(i / 2, i % 2, 0, 0);

		CHECK_EQ(trace_part_add(part, &op, i, &err), 0);
	}
	CHECK_EQ(trace_build(builder, &trace, &err), -EINVAL);
	CHECK_STR(err.msg, "2 steps are too few: at least 3 are needed");
	CHECK(!trace);
}

static void a_stage_without_operations_is_refused(void)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(1, 3);
	struct trace_part *part = trace_part_new(builder);
	struct trace *trace = NULL;
	struct err err = ERR_INIT;
	uint32_t i;

	trace_part_begin(part, 0);
	for (i = 0; i < 6; i++) {
		struct trace_op op = op_of(i / 2, 0, i % 2 * 2, 0);

		CHECK_EQ(trace_part_add(part, &op, i, &err), 0);
	}
	CHECK_EQ(trace_build(builder, &trace, &err), -EINVAL);
	CHECK_STR(err.msg, "pp_size: 3, but stage 1 has no operation");
	CHECK(!trace);
}

static void windows_take_whole_steps(void)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(1, 1);
	struct trace_part *part = trace_part_new(builder);
	CLEANUP(trace_freep) struct trace *first = NULL;
	CLEANUP(trace_freep) struct trace *second = NULL;
	struct trace *third = NULL;
	struct err err = ERR_INIT;
	struct trace_op op;
	uint32_t i;

	for (i = 0; i < 16; i++) {
		trace_part_begin(part, i);
		op = op_of(i / 2, 0, 0, i % 2);
		CHECK_EQ(trace_part_add(part, &op, 1, &err), 0);
		trace_part_end(part, 1);
		if (i == 8)
			CHECK_EQ(trace_build_window(builder, &first, &err), 0);
	}
	CHECK_EQ(trace_builder_count(builder), 8);
	op = op_of(4, 0, 0, 0);
	trace_part_begin(part, 16);
	CHECK_EQ(trace_part_add(part, &op, 1, &err), 0);
	trace_part_end(part, 1);
	CHECK_EQ(trace_build(builder, &third, &err), -EINVAL);
	CHECK_STR(err.msg, "line 17: forward-compute 0 of stage 0, dp_rank 0, step 4 appears twice"
			   " (line 9 has it too)");
	if (first) {
		CHECK_EQ(first->n_steps, 4);
		CHECK_EQ(first->window, 0);
	}
}

static void a_step_that_comes_back_after_its_window_is_refused(void)
{
	CLEANUP(trace_builder_freep) struct trace_builder *builder = builder_of(1, 1);
	struct trace_part *part = trace_part_new(builder);
	CLEANUP(trace_freep) struct trace *first = NULL;
	struct trace *second = NULL;
	struct err err = ERR_INIT;
	struct trace_op op = op_of(9, 0, 0, 0);
	uint32_t i;

	trace_part_begin(part, 0);
	CHECK_EQ(trace_part_add(part, &op, 1, &err), 0);
	CHECK_EQ(trace_build_window(builder, &first, &err), -EAGAIN);
	for (i = 0; i < 4; i++) {
		op = op_of(i, 0, 0, 0);
		CHECK_EQ(trace_part_add(part, &op, i + 2, &err), 0);
	}
	err = (struct err)ERR_INIT;
	CHECK_EQ(trace_build_window(builder, &first, &err), 0);
	CHECK_STR(err.msg, "");
	op = op_of(9, 0, 0, 1);
	CHECK_EQ(trace_part_add(part, &op, 6, &err), 0);
	CHECK_EQ(trace_build(builder, &second, &err), -EINVAL);
	CHECK_STR(err.msg, "step 9 continues after its window was analysed: sort the trace by"
			   " step, or raise --max-ops");
}

static void a_job_has_a_shape_and_ranks(void)
{
	struct trace_job job = job_of(2, 2);
	struct err err = ERR_INIT;

	job.world = 5;
	CHECK_EQ(trace_job_open(&job, &err), -EINVAL);
	CHECK_STR(err.msg, "world_size: 5 is not dp_size * pp_size * tp_size * dsp_size = 4");
	job.world = 4;
	job.tp = 0;
	CHECK_EQ(trace_job_open(&job, &err), -EINVAL);
	CHECK_STR(err.msg, "tp_size: 0 is outside 1 to 1024");
	job.tp = 1;
	CHECK_EQ(trace_job_open(&job, &err), 0);
	CHECK_EQ(trace_job_place(&job, 0, 0, 0, "b", &err), 0);
	CHECK_EQ(trace_job_place(&job, 0, 1, 1, "a", &err), 0);
	CHECK_EQ(trace_job_place(&job, 0, 1, 1, "c", &err), -EINVAL);
	CHECK_STR(err.msg, "node: 'c', but 'a' before");
	CHECK_EQ(trace_job_place(&job, 1, 0, 1, "b", &err), 0);
	CHECK_EQ(trace_job_close(&job, &err), -EINVAL);
	CHECK_STR(err.msg, "ranks: none for dp_rank 1 and stage 1");
	CHECK_EQ(trace_job_place(&job, 1, 1, 3, NULL, &err), 0);
	CHECK_EQ(trace_job_close(&job, &err), -EINVAL);
	CHECK_STR(err.msg, "ranks: rank 1 belongs to two workers");
	job.workers[2].rank = 2;
	CHECK_EQ(trace_job_close(&job, &err), 0);
	CHECK_EQ(job.n_nodes, 3);
	CHECK_STR(job.nodes[job.workers[2].node], "b");
	CHECK_STR(job.nodes[job.workers[3].node], "n000");
	trace_job_release(&job);
}

static void every_type_is_found_by_its_name(void)
{
	unsigned i;

	for (i = 0; i < OPTYPE_N; i++) {
		CHECK_EQ(optype_find(optype_name(i), strlen(optype_name(i))), i);
		if (i > 0)
			CHECK(strcmp(optype_name(i - 1), optype_name(i)) < 0);
	}
	CHECK_EQ(optype_find("optimize", 8), -1);
	CHECK_EQ(optype_find("forward-send-backward-recv", 26), -1);
}

static const struct test tests[] = {
	TEST(operations_in_any_order_make_a_table),
	TEST(parts_and_blocks_count_lines_together),
	TEST(a_step_with_another_lane_is_dropped_and_listed),
	TEST(fields_that_cannot_be_are_named),
	TEST(what_is_too_little_is_refused),
	TEST(a_stage_without_operations_is_refused),
	TEST(windows_take_whole_steps),
	TEST(a_step_that_comes_back_after_its_window_is_refused),
	TEST(a_job_has_a_shape_and_ranks),
	TEST(every_type_is_found_by_its_name),
};

TEST_SUITE(tests);
