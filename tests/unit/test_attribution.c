/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that must not affect the result, wrong clocks, hints, and the document. */
#include "attribution/attribution.h"

#include <errno.h>
#include <math.h>

#include "attribution/trace_build.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "tests/unit/pipeline.h"
#include "tests/unit/test.h"

static const struct pipeline slow_worker = { .dp = 4,
					     .pp = 4,
					     .microbatches = 8,
					     .forward = 0.04,
					     .backward = 0.08,
					     .slow_dp = 1,
					     .slow_stage = 2,
					     .slow = 1.6,
					     .collectives = true };

static struct attribution *attribute(const struct pipeline *pipeline, bool align)
{
	struct attribution_options options = ATTRIBUTION_OPTIONS;
	struct attribution *a = NULL;
	struct err err = ERR_INIT;

	options.align = align;
	options.n_threads = 2;
	CHECK_EQ(attribution_new(pipeline_trace(pipeline), &options, &a, &err), 0);
	CHECK_STR(err.msg, "");
	return a;
}

static void the_order_of_lines_does_not_matter(void)
{
	static const uint32_t strides[] = { 2, 7, 97, 1009 };
	CLEANUP(attribution_freep) struct attribution *a = attribute(&slow_worker, false);
	CLEANUP(json_freep) json_t *before = attribution_document(a);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		struct pipeline shuffled = slow_worker;

		shuffled.stride = strides[i];
		CLEANUP(attribution_freep) struct attribution *b = attribute(&shuffled, false);
		CLEANUP(json_freep) json_t *after = attribution_document(b);

		CHECK(json_equal(before, after));
	}
}

static void only_differences_within_a_step_count(void)
{
	CLEANUP(attribution_freep) struct attribution *a = attribute(&slow_worker, false);
	struct pipeline later = slow_worker;

	later.clock = 4194304;
	CLEANUP(attribution_freep) struct attribution *b = attribute(&later, false);
	CHECK_NEAR(b->slowdown.s, a->slowdown.s, 1e-8);
	CHECK_NEAR(b->slowdown.top.share, a->slowdown.top.share, 1e-7);
	CHECK_EQ(b->cause.primary, a->cause.primary);
}

static void another_order_of_dp_ranks_permutes_the_answer(void)
{
	CLEANUP(attribution_freep) struct attribution *a = attribute(&slow_worker, false);
	struct pipeline permuted = slow_worker;
	size_t stage;

	permuted.slow_dp = 3;
	CLEANUP(attribution_freep) struct attribution *b = attribute(&permuted, false);
	CHECK_NEAR(b->slowdown.s, a->slowdown.s, 1e-12);
	CHECK_NEAR(b->slowdown.dp[3], a->slowdown.dp[1], 1e-12);
	CHECK_NEAR(b->slowdown.dp[1], a->slowdown.dp[3], 1e-12);
	CHECK(a->slowdown.dp[1] > a->slowdown.dp[3] + 0.1);
	for (stage = 0; stage < 4; stage++)
		CHECK_NEAR(b->slowdown.exact[3 * 4 + stage], a->slowdown.exact[1 * 4 + stage],
			   1e-12);
}

static void twice_the_time_is_the_same_slowdown(void)
{
	CLEANUP(attribution_freep) struct attribution *a = attribute(&slow_worker, false);
	struct pipeline twice = slow_worker;

	twice.scale = 2;
	CLEANUP(attribution_freep) struct attribution *b = attribute(&twice, false);
	CHECK_NEAR(b->slowdown.simulated, 2 * a->slowdown.simulated, 1e-12);
	CHECK_NEAR(b->slowdown.s, a->slowdown.s, 1e-12);
	CHECK_NEAR(b->slowdown.top.share, a->slowdown.top.share, 1e-9);
	CHECK_NEAR(b->slowdown.last_stage.share_without, a->slowdown.last_stage.share_without, 1e-9);
	CHECK_NEAR(b->slowdown.levelled, a->slowdown.levelled, 1e-9);
}

/* ---- clocks ---- */

static void ahead_and_behind(struct trace_op *op)
{
	op->start += op->stage == 1 ? 0.004 : op->stage == 3 ? -0.003 : 0;
}

static void clocks_that_are_wrong_are_corrected(void)
{
	struct pipeline skewed = slow_worker;
	CLEANUP(attribution_freep) struct attribution *right = NULL;

	skewed.node_of_stage = true;
	right = attribute(&skewed, true);
	CHECK_EQ(right->alignment.n, 0);
	skewed.change = ahead_and_behind;
	CLEANUP(attribution_freep) struct attribution *a = attribute(&skewed, true);
	CLEANUP(attribution_freep) struct attribution *left = attribute(&skewed, false);
	CHECK_EQ(a->alignment.n, 2);
	CHECK_NEAR(a->alignment.offsets[0], 0, 0);
	CHECK_NEAR(a->alignment.offsets[1], 0.004, 1e-9);
	CHECK_NEAR(a->alignment.offsets[2], 0, 0);
	CHECK_NEAR(a->alignment.offsets[3], -0.003, 1e-9);
	CHECK_NEAR(a->slowdown.s, right->slowdown.s, 1e-9);
	CHECK_NEAR(a->slowdown.recorded, right->slowdown.recorded, 1e-9);
	CHECK(fabs(left->slowdown.recorded - right->slowdown.recorded) > 0.002);
	CHECK_EQ(left->alignment.n, 0);
}

/* Late at the barrier only: the host is slow there, its clock is right. */
static void late_at_the_clip(struct trace_op *op)
{
	if (op->stage == 1 && op->type == OP_CLIP_MAIN_GRAD)
		op->duration += 0.009;
}

/* Its sends end late and the barrier does not say so. */
static void late_at_the_sends(struct trace_op *op)
{
	if (op->stage == 1 && optype_is_p2p((enum optype)op->type))
		op->duration += 0.009;
}

static void a_host_that_is_late_keeps_its_clock(void)
{
	struct pipeline late = slow_worker;

	late.node_of_stage = true;
	late.change = late_at_the_clip;
	CLEANUP(attribution_freep) struct attribution *a = attribute(&late, true);
	CHECK_EQ(a->alignment.n, 0);
	late.change = late_at_the_sends;
	CLEANUP(attribution_freep) struct attribution *b = attribute(&late, true);
	CHECK_EQ(b->alignment.n, 0);
}

/* ---- hints ---- */

static void late_start(struct trace_op *op)
{
	if (op->dp_rank == 2 && op->stage == 1 && op->type == OP_FORWARD_COMPUTE &&
	    op->seq_id == 0) {
		op->start += 0.01;
		op->duration -= 0.01;
	}
}

static void a_host_that_launches_late_is_told(void)
{
	struct pipeline late = slow_worker;
	const struct launch_delay *worker;

	late.change = late_start;
	CLEANUP(attribution_freep) struct attribution *a = attribute(&late, false);
	worker = &a->hints.workers[2 * 4 + 1];
	CHECK_NEAR(worker->above, 0.01, 1e-9);
	CHECK_NEAR(worker->share, 1, 1e-6);
	CHECK_NEAR(a->hints.nodes[1].share, 1, 1e-6);
	CHECK_NEAR(a->hints.nodes[0].share, 0, 1e-6);
	CHECK_NEAR(a->hints.workers[1 * 4 + 1].seconds, 0, 1e-9);
	CHECK_NEAR(a->hints.step_time_slope, 0, 1e-9);
}

static void grows(struct trace_op *op)
{
	if (op->type == OP_OPTIMIZER)
		op->duration += 0.01 * (double)op->step;
	if (op->dp_rank == 3)
		op->start += 0.002 * (double)op->step;
}

static void times_that_grow_are_told(void)
{
	struct pipeline drifting = slow_worker;

	drifting.change = grows;
	CLEANUP(attribution_freep) struct attribution *a = attribute(&drifting, false);
	CHECK_NEAR(a->hints.step_time_slope, 0.012, 1e-9);
	CHECK_NEAR(a->hints.start_skew_slope, 0.002, 1e-9);
}

/* ---- pauses ---- */

static void pauses(struct trace_op *op)
{
	/* rank 1 once, rank 2 twice in each step, the second time with a slow backward too */
	bool chosen = (op->dp_rank == 1 && op->stage == 0 && op->seq_id == 3) ||
		      (op->dp_rank == 2 && op->stage == 3 && op->seq_id % 5 == 1);

	if (chosen && op->type == OP_FORWARD_COMPUTE)
		op->duration *= 1.6;
	if (chosen && op->type == OP_BACKWARD_COMPUTE && op->seq_id == 6)
		op->duration *= 1.3;
}

static void a_pause_is_a_slow_forward_with_a_usual_backward(void)
{
	struct pipeline paused = slow_worker;
	struct balance balance;
	struct err err = ERR_INIT;

	paused.change = pauses;
	CLEANUP(trace_freep) struct trace *trace = pipeline_trace(&paused);
	CHECK_EQ(balance_find(trace, &balance, &err), 0);
	CHECK_EQ(balance.n_pauses, PIPELINE_STEPS * 2);
	CHECK_EQ(balance.n_paused, 2);
	CHECK_NEAR(balance.max_share, 0.5, 1e-12);
	balance_release(&balance);
	paused.change = NULL;
	CLEANUP(trace_freep) struct trace *even = pipeline_trace(&paused);
	CHECK_EQ(balance_find(even, &balance, &err), 0);
	CHECK_EQ(balance.n_pauses, 0);
	CHECK(isnan(balance.max_share));
	balance_release(&balance);
}

/* ---- the document ---- */

static void what_cannot_be_said_is_null(void)
{
	static const char *const nulls[] = { "M_w",    "M_w_compute", "M_x",	"M_s", "A_s_excl",
					     "M_comm", "M_seq",	      "M_node", "ms" };
	struct pipeline even = slow_worker;
	size_t i;

	even.slow = 1;
	even.pp = 1;
	CLEANUP(attribution_freep) struct attribution *a = attribute(&even, true);
	CLEANUP(json_freep) json_t *doc = attribution_document(a);
	for (i = 0; i < ARRAY_SIZE(nulls); i++)
		CHECK(json_is_null(json_object_get(doc, nulls[i])));
	CHECK(json_is_null(json_object_get(json_object_get(doc, "gc"), "M_gc")));
	CHECK_STR(json_string_value(json_object_get(doc, "primary")), "none");
	CHECK_EQ(json_array_size(json_object_get(doc, "X")), 0);
	CHECK_NEAR(json_number_value(json_object_get(doc, "S")), 1, 1e-12);
}

static const struct test tests[] = {
	TEST(the_order_of_lines_does_not_matter),
	TEST(only_differences_within_a_step_count),
	TEST(another_order_of_dp_ranks_permutes_the_answer),
	TEST(twice_the_time_is_the_same_slowdown),
	TEST(clocks_that_are_wrong_are_corrected),
	TEST(a_host_that_is_late_keeps_its_clock),
	TEST(a_host_that_launches_late_is_told),
	TEST(times_that_grow_are_told),
	TEST(a_pause_is_a_slow_forward_with_a_usual_backward),
	TEST(what_cannot_be_said_is_null),
};

TEST_SUITE(tests);
