/* SPDX-License-Identifier: Apache-2.0 */
/* The rules R1 to R8, each with the smallest job that shows it. */
#include <errno.h>

#include "attribution/cost.h"
#include "attribution/graph.h"
#include "attribution/simulate.h"
#include "lib/base/err.h"
#include "tests/unit/operations.h"
#include "tests/unit/test.h"

/* Two stages, two micro-batches, all that a step has; DP or not by the shape. */
static const struct row two_stages[] = {
	{ 0, OP_PARAMS_ALL_GATHER, 0, 0, 0, 1 },
	{ 0, OP_FORWARD_COMPUTE, 0, 0, 1, 2 },
	{ 0, OP_FORWARD_SEND, 0, -1, 2, 2.5 },
	{ 0, OP_FORWARD_COMPUTE, 1, 0, 2, 3 },
	{ 0, OP_FORWARD_SEND, 1, -1, 3, 5.6 },
	{ 0, OP_BACKWARD_RECV, 0, -1, 2, 5.5 },
	{ 0, OP_BACKWARD_COMPUTE, 0, 0, 5.5, 7.5 },
	{ 0, OP_BACKWARD_RECV, 1, -1, 7.5, 9.5 },
	{ 0, OP_BACKWARD_COMPUTE, 1, 0, 9.5, 11.5 },
	{ 0, OP_GC, 0, -1, 11.5, 11.5 },
	{ 0, OP_LAYERNORM_GRADS, 0, -1, 11.5, 11.6 },
	{ 0, OP_EMBEDDING_GRADS, 0, -1, 11.6, 12 },
	{ 0, OP_GRADS_REDUCE_SCATTER, 0, 0, 12, 13 },
	{ 0, OP_CLIP_MAIN_GRAD, 0, -1, 13, 13.5 },
	{ 0, OP_OPTIMIZER, 0, -1, 13.5, 14 },
	{ 1, OP_PARAMS_ALL_GATHER, 0, 0, 0, 1 },
	{ 1, OP_FORWARD_RECV, 0, -1, 0, 2.5 },
	{ 1, OP_FORWARD_COMPUTE, 0, 0, 2.5, 3.5 },
	{ 1, OP_FORWARD_RECV, 1, -1, 3.5, 5.6 },
	{ 1, OP_BACKWARD_COMPUTE, 0, 0, 3.5, 5.5 },
	{ 1, OP_BACKWARD_SEND, 0, -1, 5.5, 5.5 },
	{ 1, OP_FORWARD_COMPUTE, 1, 0, 5.6, 6.6 },
	{ 1, OP_BACKWARD_COMPUTE, 1, 0, 6.6, 9.5 },
	{ 1, OP_BACKWARD_SEND, 1, -1, 9.5, 9.5 },
	{ 1, OP_GC, 0, -1, 9.5, 9.5 },
	{ 1, OP_LAYERNORM_GRADS, 0, -1, 9.5, 9.6 },
	{ 1, OP_EMBEDDING_GRADS, 0, -1, 9.6, 12 },
	{ 1, OP_GRADS_REDUCE_SCATTER, 0, 0, 12, 13 },
	{ 1, OP_CLIP_MAIN_GRAD, 0, -1, 13, 13.5 },
	{ 1, OP_OPTIMIZER, 0, -1, 13.5, 14 },
};
static const struct shape two_by_two = { 2, 2, 1 };

static void computes_of_a_stage_follow_each_other(void)
{
	struct result g = graph_of(two_by_two, two_stages, ARRAY_SIZE(two_stages));
	uint32_t f0 = key_of(&g, 1, OP_FORWARD_COMPUTE, 0),
		 b0 = key_of(&g, 1, OP_BACKWARD_COMPUTE, 0);
	uint32_t f1 = key_of(&g, 1, OP_FORWARD_COMPUTE, 1),
		 b1 = key_of(&g, 1, OP_BACKWARD_COMPUTE, 1);

	CHECK(waits(&g, b0, f0)); /* R1 */
	CHECK(waits(&g, f1, b0));
	CHECK(waits(&g, b1, f1));
	CHECK(!waits(&g, f1, f0));
	CHECK(waits(&g, key_of(&g, 0, OP_FORWARD_SEND, 1),
		    key_of(&g, 0, OP_FORWARD_SEND, 0))); /* R2 */
	result_release(&g);
}

static void transfers_are_between_computes(void)
{
	struct result g = graph_of(two_by_two, two_stages, ARRAY_SIZE(two_stages));
	uint32_t recv = key_of(&g, 1, OP_FORWARD_RECV, 1), send = key_of(&g, 0, OP_FORWARD_SEND, 1);
	uint32_t back = key_of(&g, 0, OP_BACKWARD_RECV, 0);

	/* R3 */
	CHECK(waits(&g, send, key_of(&g, 0, OP_FORWARD_COMPUTE, 1)));
	CHECK(waits(&g, key_of(&g, 1, OP_FORWARD_COMPUTE, 1), recv));
	CHECK(waits(&g, recv, key_of(&g, 1, OP_FORWARD_COMPUTE, 0)));
	CHECK_EQ(n_waits(&g, key_of(&g, 1, OP_FORWARD_RECV, 0)), 0);
	/* R4: of two forwards before the first backward the first one */
	CHECK(waits(&g, back, key_of(&g, 0, OP_FORWARD_COMPUTE, 0)));
	CHECK_EQ(n_waits(&g, back), 1);
	/* on the last stage only one forward comes before */
	CHECK_EQ(n_waits(&g, key_of(&g, 1, OP_BACKWARD_SEND, 0)), 1);
	/* R5 */
	CHECK(unit_of(&g, send) == unit_of(&g, recv));
	CHECK(unit_of(&g, back) == unit_of(&g, key_of(&g, 1, OP_BACKWARD_SEND, 0)));
	CHECK(!unit_of(&g, send)->over_dp);
	CHECK_EQ(unit_of(&g, send)->n_members, 2);
	result_release(&g);
}

static void the_tail_of_a_step_is_a_chain(void)
{
	static const enum optype chain[] = { OP_GC,
					     OP_LAYERNORM_GRADS,
					     OP_EMBEDDING_GRADS,
					     OP_GRADS_REDUCE_SCATTER,
					     OP_CLIP_MAIN_GRAD,
					     OP_OPTIMIZER };
	struct result g = graph_of(two_by_two, two_stages, ARRAY_SIZE(two_stages));
	size_t i;

	/* R7 */
	CHECK(waits(&g, key_of(&g, 0, OP_GC, 0), key_of(&g, 0, OP_BACKWARD_COMPUTE, 1)));
	for (i = 1; i < ARRAY_SIZE(chain); i++)
		CHECK(waits(&g, key_of(&g, 0, chain[i], 0), key_of(&g, 0, chain[i - 1], 0)));
	/* R6: without overlap no compute before the gradients but by the tail */
	CHECK(waits(&g, key_of(&g, 0, OP_FORWARD_COMPUTE, 0),
		    key_of(&g, 0, OP_PARAMS_ALL_GATHER, 0)));
	CHECK(waits(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 0),
		    key_of(&g, 0, OP_PARAMS_ALL_GATHER, 0)));
	CHECK_EQ(n_waits(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 0)), 2);
	/* R8 */
	CHECK(unit_of(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 0))->over_dp);
	CHECK_EQ(unit_of(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 0))->n_members, 1);
	CHECK(unit_of(&g, key_of(&g, 0, OP_EMBEDDING_GRADS, 0)) ==
	      unit_of(&g, key_of(&g, 1, OP_EMBEDDING_GRADS, 0)));
	CHECK(!unit_of(&g, key_of(&g, 0, OP_EMBEDDING_GRADS, 0))->over_dp);
	CHECK(unit_of(&g, key_of(&g, 0, OP_CLIP_MAIN_GRAD, 0)) ==
	      unit_of(&g, key_of(&g, 1, OP_CLIP_MAIN_GRAD, 0)));
	CHECK(unit_of(&g, key_of(&g, 0, OP_CLIP_MAIN_GRAD, 0))->over_dp);
	CHECK(!unit_of(&g, key_of(&g, 0, OP_LAYERNORM_GRADS, 0))->sync);
	CHECK_EQ(g.graph->n_last, 2);
	result_release(&g);
}

static void without_dp_nothing_waits_for_collectives(void)
{
	struct result g = graph_of((struct shape){ 1, 2, 1 }, two_stages, ARRAY_SIZE(two_stages));

	CHECK(waits(&g, key_of(&g, 0, OP_CLIP_MAIN_GRAD, 0), key_of(&g, 0, OP_EMBEDDING_GRADS, 0)));
	CHECK_EQ(n_waits(&g, key_of(&g, 0, OP_CLIP_MAIN_GRAD, 0)), 1);
	CHECK_EQ(n_waits(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 0)), 0);
	CHECK(!unit_of(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 0))->sync);
	CHECK_EQ(n_waits(&g, key_of(&g, 0, OP_FORWARD_COMPUTE, 0)), 0);
	result_release(&g);
}

/* One stage of two chunks whose gradients are reduced while it still computes. */
static const struct row overlapped[] = {
	{ 0, OP_PARAMS_ALL_GATHER, 0, 0, 0, 1 },
	{ 0, OP_PARAMS_ALL_GATHER, 1, 1, 1, 2 },
	{ 0, OP_FORWARD_COMPUTE, 0, 0, 1, 2 },
	{ 0, OP_FORWARD_COMPUTE, 1, 1, 2, 3 },
	{ 0, OP_BACKWARD_COMPUTE, 0, 1, 3, 5 },
	{ 0, OP_BACKWARD_COMPUTE, 1, 0, 5, 7 },
	{ 0, OP_GRADS_REDUCE_SCATTER, 0, 1, 5, 6 },
	{ 0, OP_GRADS_REDUCE_SCATTER, 1, 0, 7, 8 },
	{ 0, OP_GC, 0, -1, 7, 7 },
	{ 0, OP_LAYERNORM_GRADS, 0, -1, 8, 8.1 },
	{ 0, OP_SEPARATE_GRADS, 0, -1, 8.1, 8.5 },
	{ 0, OP_CLIP_MAIN_GRAD, 0, -1, 8.5, 9 },
	{ 0, OP_OPTIMIZER, 0, -1, 9, 9.5 },
};

static void overlapped_gradients_wait_for_their_chunk(void)
{
	struct result g = graph_of((struct shape){ 2, 1, 2 }, overlapped, ARRAY_SIZE(overlapped));
	uint32_t norm = key_of(&g, 0, OP_LAYERNORM_GRADS, 0);

	/* R6 */
	CHECK(waits(&g, key_of(&g, 0, OP_FORWARD_COMPUTE, 1),
		    key_of(&g, 0, OP_PARAMS_ALL_GATHER, 1)));
	CHECK(waits(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 0),
		    key_of(&g, 0, OP_BACKWARD_COMPUTE, 0)));
	CHECK(waits(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 1),
		    key_of(&g, 0, OP_BACKWARD_COMPUTE, 1)));
	CHECK(!waits(&g, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 0),
		     key_of(&g, 0, OP_BACKWARD_COMPUTE, 1)));
	/* R7 */
	CHECK(waits(&g, norm, key_of(&g, 0, OP_GRADS_REDUCE_SCATTER, 1)));
	CHECK(waits(&g, norm, key_of(&g, 0, OP_GC, 0)));
	CHECK(waits(&g, key_of(&g, 0, OP_SEPARATE_GRADS, 0), norm));
	CHECK(waits(&g, key_of(&g, 0, OP_CLIP_MAIN_GRAD, 0), key_of(&g, 0, OP_SEPARATE_GRADS, 0)));
	CHECK_EQ(n_waits(&g, key_of(&g, 0, OP_CLIP_MAIN_GRAD, 0)), 1);
	CHECK(unit_of(&g, key_of(&g, 0, OP_SEPARATE_GRADS, 0))->over_dp);
	result_release(&g);
}

/* Two stages of two chunks, one micro-batch: chunk 0 on stages 0 and 1, then chunk 1. */
static const struct row interleaved[] = {
	{ 0, OP_FORWARD_RECV, 0, -1, 0, 0 },	  { 0, OP_FORWARD_COMPUTE, 0, 0, 0, 1 },
	{ 0, OP_FORWARD_SEND, 0, -1, 1, 1 },	  { 0, OP_FORWARD_RECV, 1, -1, 1, 2 },
	{ 0, OP_FORWARD_COMPUTE, 1, 1, 2, 3 },	  { 0, OP_FORWARD_SEND, 1, -1, 3, 3 },
	{ 0, OP_BACKWARD_RECV, 0, -1, 3, 6 },	  { 0, OP_BACKWARD_COMPUTE, 0, 1, 6, 8 },
	{ 0, OP_BACKWARD_SEND, 0, -1, 8, 8 },	  { 0, OP_BACKWARD_RECV, 1, -1, 8, 10 },
	{ 0, OP_BACKWARD_COMPUTE, 1, 0, 10, 12 }, { 0, OP_BACKWARD_SEND, 1, -1, 12, 12 },
	{ 0, OP_OPTIMIZER, 0, -1, 12, 13 },	  { 1, OP_FORWARD_RECV, 0, -1, 0, 1 },
	{ 1, OP_FORWARD_COMPUTE, 0, 0, 1, 2 },	  { 1, OP_FORWARD_SEND, 0, -1, 2, 2 },
	{ 1, OP_FORWARD_RECV, 1, -1, 2, 3 },	  { 1, OP_FORWARD_COMPUTE, 1, 1, 3, 4 },
	{ 1, OP_FORWARD_SEND, 1, -1, 4, 4 },	  { 1, OP_BACKWARD_RECV, 0, -1, 4, 4 },
	{ 1, OP_BACKWARD_COMPUTE, 0, 1, 4, 6 },	  { 1, OP_BACKWARD_SEND, 0, -1, 6, 6 },
	{ 1, OP_BACKWARD_RECV, 1, -1, 6, 8 },	  { 1, OP_BACKWARD_COMPUTE, 1, 0, 8, 10 },
	{ 1, OP_BACKWARD_SEND, 1, -1, 10, 10 },	  { 1, OP_OPTIMIZER, 0, -1, 12, 13 },
};

static void interleaved_chunks_send_round_the_stages(void)
{
	struct result g = graph_of((struct shape){ 1, 2, 2 }, interleaved, ARRAY_SIZE(interleaved));
	double room[512], ideal[64] = { 0 }, times[OPERATIONS_STEPS];
	uint8_t choices[64];
	struct whatif whatif = { .choices = choices, .ideal = ideal, .times = times };
	struct cost cost = { 0 };
	struct simulation simulation;

	/* chunk 0 from stage 1 to chunk 1 on stage 0, and back */
	CHECK(unit_of(&g, key_of(&g, 1, OP_FORWARD_SEND, 0)) ==
	      unit_of(&g, key_of(&g, 0, OP_FORWARD_RECV, 1)));
	CHECK(unit_of(&g, key_of(&g, 0, OP_BACKWARD_SEND, 0)) ==
	      unit_of(&g, key_of(&g, 1, OP_BACKWARD_RECV, 1)));
	/* the first chunk of the job receives from nobody, the last one sends to nobody */
	CHECK(!unit_of(&g, key_of(&g, 0, OP_FORWARD_RECV, 0))->sync);
	CHECK(!unit_of(&g, key_of(&g, 1, OP_FORWARD_SEND, 1))->sync);
	CHECK(!unit_of(&g, key_of(&g, 1, OP_BACKWARD_RECV, 0))->sync);
	CHECK(!unit_of(&g, key_of(&g, 0, OP_BACKWARD_SEND, 1))->sync);
	/* and the whole takes what it took */
	CHECK_EQ(cost_find(g.trace, g.graph, 2, &cost, &g.err), 0);
	simulation = simulation_of(g.trace, g.graph, cost.value, 1);
	memset(choices, WHATIF_ORIGINAL, sizeof(choices));
	CHECK(g.graph->n_keys <= ARRAY_SIZE(choices));
	CHECK(simulation_room(&simulation) <= ARRAY_SIZE(room));
	CHECK_EQ(simulation_blocks(&simulation), 1);
	simulate_load(&simulation, 0, room);
	simulate(&simulation, &whatif, 0, room);
	CHECK_NEAR(times[0], 13, 1e-12);
	CHECK_NEAR(times[2], 13, 1e-12);
	cost_release(&cost);
	result_release(&g);
}

/* Sends that end before anything was computed, and receives posted after all was: no-ops. */
static void transfers_outside_of_the_computes_have_no_peer(void)
{
	static const struct row rows[] = {
		{ 0, OP_FORWARD_SEND, 0, -1, 0, 0.5 }, { 0, OP_FORWARD_COMPUTE, 0, 0, 1, 2 },
		{ 0, OP_FORWARD_SEND, 1, -1, 2, 3 },   { 0, OP_OPTIMIZER, 0, -1, 9, 10 },
		{ 1, OP_FORWARD_RECV, 0, -1, 0, 3 },   { 1, OP_FORWARD_COMPUTE, 0, 0, 3, 4 },
		{ 1, OP_FORWARD_RECV, 1, -1, 4, 5 },   { 1, OP_OPTIMIZER, 0, -1, 9, 10 },
	};
	struct result g = graph_of((struct shape){ 1, 2, 1 }, rows, ARRAY_SIZE(rows));

	CHECK_EQ(g.r, 0);
	if (!g.graph)
		return;
	CHECK(!unit_of(&g, key_of(&g, 0, OP_FORWARD_SEND, 0))->sync);
	CHECK(!unit_of(&g, key_of(&g, 1, OP_FORWARD_RECV, 1))->sync);
	CHECK_EQ(n_waits(&g, key_of(&g, 0, OP_FORWARD_SEND, 0)), 0);
	CHECK(unit_of(&g, key_of(&g, 0, OP_FORWARD_SEND, 1)) ==
	      unit_of(&g, key_of(&g, 1, OP_FORWARD_RECV, 0)));
	result_release(&g);
}

/* The last stage receives only the second of two: the first compute waits for none. */
static void of_receives_that_are_one_short_the_first_is_missing(void)
{
	static const struct row rows[] = {
		{ 0, OP_FORWARD_COMPUTE, 0, 0, 0, 1 }, { 0, OP_FORWARD_COMPUTE, 1, 0, 1, 2 },
		{ 0, OP_FORWARD_SEND, 0, -1, 2, 3 },   { 1, OP_FORWARD_COMPUTE, 0, 0, 1, 2 },
		{ 1, OP_FORWARD_RECV, 0, -1, 2, 3 },   { 1, OP_FORWARD_COMPUTE, 1, 0, 3, 4 },
	};
	struct result g = graph_of((struct shape){ 1, 2, 1 }, rows, ARRAY_SIZE(rows));

	CHECK_EQ(g.r, 0);
	if (!g.graph)
		return;
	CHECK(waits(&g, key_of(&g, 1, OP_FORWARD_COMPUTE, 1), key_of(&g, 1, OP_FORWARD_RECV, 0)));
	CHECK(waits(&g, key_of(&g, 1, OP_FORWARD_RECV, 0), key_of(&g, 1, OP_FORWARD_COMPUTE, 0)));
	CHECK_EQ(n_waits(&g, key_of(&g, 1, OP_FORWARD_COMPUTE, 0)), 0);
	CHECK_EQ(g.graph->n_last, 3); /* no optimizer: the step ends with what nobody waits for */
	result_release(&g);
}

static void transfers_that_do_not_fit_are_refused(void)
{
	static const struct {
		struct shape shape;
		struct row rows[8];
		size_t n;
		const char *message;
	} cases[] = {
		{ { 1, 3, 1 },
		  { { 0, OP_OPTIMIZER, 0, -1, 9, 10 },
		    { 2, OP_OPTIMIZER, 0, -1, 9, 10 },
		    { 1, OP_FORWARD_COMPUTE, 0, 0, 0, 1 },
		    { 1, OP_FORWARD_COMPUTE, 1, 0, 1, 2 },
		    { 1, OP_FORWARD_SEND, 0, -1, 2, 3 } },
		  5,
		  "stage 1 has 0 forward-recv and 2 forward-compute: they do not match" },
		{ { 1, 2, 1 },
		  { { 0, OP_FORWARD_COMPUTE, 0, 0, 0, 1 },
		    { 0, OP_FORWARD_SEND, 0, -1, 1, 2 },
		    { 1, OP_FORWARD_COMPUTE, 0, 0, 2, 3 } },
		  3,
		  "stage 0 has 1 forward-send, but stage 1 has 0 forward-recv: a peer is missing" },
		/* each stage sends before it receives from the other */
		{ { 1, 2, 2 },
		  { { 0, OP_FORWARD_COMPUTE, 0, 1, 0, 1 },
		    { 0, OP_FORWARD_RECV, 0, -1, 0, 0 },
		    { 0, OP_FORWARD_SEND, 0, -1, 1, 2 },
		    { 1, OP_FORWARD_COMPUTE, 0, 0, 0, 1 },
		    { 1, OP_FORWARD_RECV, 0, -1, 0, 0 },
		    { 1, OP_FORWARD_SEND, 0, -1, 1, 2 } },
		  6,
		  "waits for itself: the starts of dp_rank 0 in step 0 form "
		  "a cycle" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct result g = graph_of(cases[i].shape, cases[i].rows, cases[i].n);

		CHECK_EQ(g.r, -EINVAL);
		CHECK_HAS(g.err.msg, cases[i].message);
		CHECK(!g.graph);
		result_release(&g);
	}
}

/* Ends less the latest start of all members; what is 10 ms before it counts as nothing. */
static void a_transfer_begins_when_all_have_started(void)
{
	struct result g = graph_of(two_by_two, two_stages, ARRAY_SIZE(two_stages));
	uint32_t send = key_of(&g, 0, OP_FORWARD_SEND, 0), recv = key_of(&g, 1, OP_FORWARD_RECV, 0);
	uint32_t clip = key_of(&g, 0, OP_CLIP_MAIN_GRAD, 0);
	uint32_t compute = key_of(&g, 0, OP_FORWARD_COMPUTE, 0);
	size_t n = g.trace->n_lanes;
	struct cost cost = { 0 };

	g.trace->start[clip * n + 1] += 0.45;  /* DP rank 1 in step 0 is late, and ends late */
	g.trace->start[send * n + 2] += 0.505; /* a start 5 ms after the end of its peer */
	g.trace->duration[send * n + 2] = 0;
	g.trace->start[send * n + 3] += 0.52; /* and one 20 ms after */
	g.trace->duration[send * n + 3] = 0;
	CHECK_EQ(cost_find(g.trace, g.graph, 2, &cost, &g.err), 0);
	CHECK_NEAR(cost.value[send * n], 0.5, 1e-12);
	CHECK_NEAR(cost.value[recv * n], 0.5, 1e-12);
	CHECK_NEAR(cost.value[clip * n], 0.05, 1e-12);
	CHECK_NEAR(cost.value[clip * n + 1], 0.5, 1e-12);
	CHECK_NEAR(cost.value[clip * n + 2], 0.5, 1e-12);
	CHECK_NEAR(cost.value[recv * n + 2], -0.005, 1e-12);
	CHECK_NEAR(cost.value[recv * n + 3], 0, 0);
	CHECK_NEAR(cost.value[compute * n], 1, 1e-12);
	CHECK_EQ(cost.negative, 1);
	CHECK_EQ(cost.clamped, 1);
	/* means of computes, medians of transfers */
	CHECK_NEAR(cost.ideal[OP_BACKWARD_COMPUTE], (2 + 2 + 2 + 2.9) / 4, 1e-12);
	CHECK_NEAR(cost.ideal[OP_CLIP_MAIN_GRAD], 0.5, 1e-12);
	cost_release(&cost);
	result_release(&g);
}

static const struct test tests[] = {
	TEST(computes_of_a_stage_follow_each_other),
	TEST(transfers_are_between_computes),
	TEST(the_tail_of_a_step_is_a_chain),
	TEST(without_dp_nothing_waits_for_collectives),
	TEST(overlapped_gradients_wait_for_their_chunk),
	TEST(interleaved_chunks_send_round_the_stages),
	TEST(transfers_outside_of_the_computes_have_no_peer),
	TEST(of_receives_that_are_one_short_the_first_is_missing),
	TEST(transfers_that_do_not_fit_are_refused),
	TEST(a_transfer_begins_when_all_have_started),
};

TEST_SUITE(tests);
