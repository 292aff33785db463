/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>

#include "attribution/cause.h"
#include "attribution/simulate.h"
#include "attribution/trace_build.h"
#include "lib/base/err.h"
#include "lib/remedy/pipe_1f1b.h"
#include "tests/unit/pipeline.h"
#include "tests/unit/test.h"

/* Everything about one trace. */
struct analysis {
	struct trace *trace;
	struct graph *graph;
	struct cost cost;
	struct slowdown slowdown;
};

static struct analysis analyse(const struct pipeline *pipeline, size_t n_threads)
{
	struct analysis a = { .trace = pipeline_trace(pipeline) };
	struct err err = ERR_INIT;

	if (!a.trace)
		return a;
	CHECK_EQ(graph_new(a.trace, &a.graph, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(cost_find(a.trace, a.graph, n_threads, &a.cost, &err), 0);
	CHECK_EQ(slowdown_find(a.trace, a.graph, &a.cost, n_threads, &a.slowdown, &err), 0);
	CHECK_EQ(slowdown_find_nodes(a.trace, a.graph, &a.cost, n_threads, &a.slowdown, &err), 0);
	return a;
}

static void analysis_release(struct analysis *a)
{
	slowdown_release(&a->slowdown);
	cost_release(&a->cost);
	graph_free(a->graph);
	trace_free(a->trace);
}

static void the_recurrence_gives_the_known_times(void)
{
	static const struct {
		double forward[4], backward[4];
		size_t stages, microbatches;
		double time;
	} rows[] = {
		{ { 1, 1, 1, 1 }, { 2, 2, 2, 2 }, 4, 8, 33 },
		{ { 1, 1.6, 1, 1 }, { 2, 3.2, 2, 2 }, 4, 8, 44.2 },
		{ { 1, 1, 1, 1.5 }, { 2, 2, 2, 3 }, 4, 8, 45 },
		{ { 1, 1, 1, 1 }, { 2, 2, 2, 2 }, 4, 2, 15 },
		{ { 1, 2 }, { 2, 4 }, 2, 1, 9 },
		{ { 1 }, { 2 }, 1, 5, 15 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_NEAR(pipe_1f1b(rows[i].forward, rows[i].backward, rows[i].stages,
				     rows[i].microbatches, NULL),
			   rows[i].time, 1e-12);
}

static const struct pipeline healthy = { .dp = 4,
					 .pp = 4,
					 .microbatches = 16,
					 .forward = 0.04,
					 .backward = 0.08,
					 .slow = 1,
					 .collectives = true };

static void a_healthy_job_takes_what_the_recurrence_says(void)
{
	struct analysis a = analyse(&healthy, 1);
	struct cause cause = cause_find(a.trace, &a.slowdown, CAUSE_STRAGGLING);

	CHECK_NEAR(a.slowdown.simulated, 2.34604, 1e-12);
	CHECK_NEAR(a.slowdown.recorded, 2.34604, 1e-12);
	CHECK_NEAR(a.slowdown.ideal, 2.34604, 1e-12);
	CHECK(!a.slowdown.measurable);
	CHECK(isnan(a.slowdown.top.share));
	CHECK_EQ(a.slowdown.x.n, 0);
	CHECK_EQ(a.slowdown.top_node, -1);
	CHECK(isnan(a.slowdown.balance.correlation));
	CHECK(isnan(a.slowdown.balance.pooled));
	CHECK_EQ(cause.primary, CAUSE_NONE);
	analysis_release(&a);
}

static void a_slow_worker_is_found_and_is_the_whole_loss(void)
{
	struct pipeline slow = healthy;
	struct analysis a;
	struct cause cause;

	slow.slow_dp = 1;
	slow.slow_stage = 2;
	slow.slow = 1.6;
	a = analyse(&slow, 2);
	cause = cause_find(a.trace, &a.slowdown, CAUSE_STRAGGLING);
	CHECK_NEAR(a.slowdown.simulated, 3.43404, 1e-12);
	CHECK_NEAR(a.slowdown.discrepancy, 0, 1e-12);
	CHECK_EQ(a.slowdown.top.n, 1);
	CHECK_EQ(a.slowdown.top.workers[0], 1 * 4 + 2);
	CHECK_EQ(a.slowdown.x.n, 1);
	CHECK_EQ(a.slowdown.x.workers[0], 1 * 4 + 2);
	CHECK(a.slowdown.top.share > 0.99);
	CHECK_NEAR(a.slowdown.top.share, a.slowdown.top.share_compute, 1e-9);
	CHECK_EQ(cause.primary, CAUSE_WORKER);
	CHECK_EQ(cause.n_labels, 1);
	CHECK(cause.guilty == &a.slowdown.top);
	analysis_release(&a);
}

/* What is one at a time in a pass over all DP ranks is what it is in a pass of its own. */
static void alone_is_the_same_as_one_after_the_other(void)
{
	struct pipeline slow = healthy;
	struct analysis a;
	size_t d, stage, i;

	slow.slow_dp = 3;
	slow.slow_stage = 1;
	slow.slow = 1.3;
	a = analyse(&slow, 1);
	for (d = 0; d < 4; d++) {
		for (stage = 0; stage < 4; stage++) {
			struct simulation simulation =
				simulation_of(a.trace, a.graph, a.cost.value, 1);
			double room[65536], times[PIPELINE_STEPS], ideal[2048];
			uint8_t choices[2048];
			uint32_t first[5] = { 0 }, rank = (uint32_t)d;
			struct whatif whatif = {
				choices, { first, &rank }, NULL, ideal, false, times, NULL
			};

			CHECK(simulation_room(&simulation) <= ARRAY_SIZE(room));
			CHECK(a.graph->n_keys <= ARRAY_SIZE(ideal));
			for (i = stage + 1; i < ARRAY_SIZE(first); i++)
				first[i] = 1;
			for (i = 0; i < a.graph->n_keys; i++) {
				ideal[i] = a.cost.ideal[a.trace->keys[i].type];
				choices[i] = WHATIF_KEPT;
			}
			for (i = 0; i < simulation_blocks(&simulation); i++) {
				simulate_load(&simulation, i, room);
				simulate(&simulation, &whatif, i, room);
			}
			CHECK_NEAR(times[0] / a.slowdown.ideal, a.slowdown.exact[d * 4 + stage],
				   1e-12);
		}
	}
	analysis_release(&a);
}

/* One node after the other is what all together say of each. */
static void nodes_together_are_the_same_as_one_by_one(void)
{
	static const bool of_stage[] = { false, true };
	size_t k, i, w;

	for (k = 0; k < ARRAY_SIZE(of_stage); k++) {
		struct pipeline slow = healthy;
		double room[65536], times[PIPELINE_STEPS], ideal[2048];
		uint8_t choices[2048];
		struct simulation simulation;
		struct analysis a;
		uint32_t node;

		slow.slow_dp = 2;
		slow.slow_stage = 1;
		slow.slow = 1.4;
		slow.node_of_stage = of_stage[k];
		a = analyse(&slow, 1);
		CHECK(a.graph->n_early * 2 > a.graph->n_units);
		CHECK(a.graph->n_early < a.graph->n_units);
		simulation = simulation_of(a.trace, a.graph, a.cost.value, 1);
		CHECK(simulation_room(&simulation) <= ARRAY_SIZE(room));
		for (i = 0; i < a.graph->n_keys; i++) {
			ideal[i] = a.cost.ideal[a.trace->keys[i].type];
			choices[i] = WHATIF_MENDED;
		}
		for (node = 0; node < a.trace->job.n_nodes; node++) {
			uint32_t first[5] = { 0 }, ranks[16], n = 0;
			struct whatif whatif = {
				choices, { first, ranks }, NULL, ideal, false, times, NULL
			};

			for (w = 0; w < 16; w++) {
				size_t worker = w % 4 * 4 + w / 4; /* by stage */

				if (a.trace->job.workers[worker].node == (int32_t)node)
					ranks[n++] = (uint32_t)(worker / 4);
				first[w / 4 + 1] = n;
			}
			for (i = 0; i < simulation_blocks(&simulation); i++) {
				simulate_load(&simulation, i, room);
				simulate(&simulation, &whatif, i, room);
			}
			CHECK_NEAR(times[0], a.slowdown.node_times[node], 1e-12);
		}
		CHECK(fabs(a.slowdown.node_times[a.slowdown.top_node] - a.slowdown.simulated) > 0.1);
		analysis_release(&a);
	}
}

/* Rank 1 is late before DP ranks meet, rank 0 after that: a step takes both. */
static void dp_ranks_wait_for_each_other(void)
{
	struct pipeline slow = healthy;
	double room[65536], times[PIPELINE_STEPS];
	uint8_t choices[2048];
	struct whatif whatif = { .choices = choices, .times = times };
	struct simulation simulation;
	struct analysis a;
	size_t i;

	slow.slow_dp = 1;
	slow.slow = 1.6;
	a = analyse(&slow, 1);
	for (i = 0; i < a.trace->n_keys; i++) {
		if (a.trace->keys[i].type == OP_OPTIMIZER)
			a.cost.value[i * a.trace->n_lanes] += 1;
	}
	simulation = simulation_of(a.trace, a.graph, a.cost.value, 1);
	memset(choices, WHATIF_ORIGINAL, sizeof(choices));
	CHECK(simulation_room(&simulation) <= ARRAY_SIZE(room));
	for (i = 0; i < simulation_blocks(&simulation); i++) {
		simulate_load(&simulation, i, room);
		simulate(&simulation, &whatif, i, room);
	}
	CHECK_NEAR(times[0], a.slowdown.simulated + 1, 1e-12);
	CHECK_NEAR(times[1], a.slowdown.simulated, 1e-12);
	analysis_release(&a);
}

static void the_number_of_threads_changes_nothing(void)
{
	struct pipeline slow = healthy;
	struct analysis one, many;
	size_t i;

	slow.slow = 1.2;
	slow.slow_stage = 1;
	one = analyse(&slow, 1);
	many = analyse(&slow, 3);
	CHECK_NEAR(one.slowdown.s, many.slowdown.s, 0);
	CHECK_NEAR(one.slowdown.levelled, many.slowdown.levelled, 0);
	for (i = 0; i < 16; i++)
		CHECK_NEAR(one.slowdown.exact[i], many.slowdown.exact[i], 0);
	analysis_release(&one);
	analysis_release(&many);
}

static void one_stage_and_one_rank_are_jobs_too(void)
{
	static const struct {
		uint32_t dp, pp;
		bool collectives;
	} rows[] = { { 1, 1, false }, { 1, 4, false }, { 4, 1, false }, { 1, 1, true },
		     { 1, 4, true },  { 4, 1, true },  { 2, 2, true } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pipeline p = healthy;
		struct analysis a;

		p.dp = rows[i].dp;
		p.pp = rows[i].pp;
		p.collectives = rows[i].collectives;
		p.slow = 1.5;
		a = analyse(&p, 2);
		CHECK_NEAR(a.slowdown.simulated, a.slowdown.recorded, 1e-12);
		CHECK(a.slowdown.measurable == (rows[i].dp * rows[i].pp > 1));
		CHECK(isnan(a.slowdown.last_stage.share_without) ==
		      (rows[i].pp == 1 || !a.slowdown.measurable));
		analysis_release(&a);
	}
}

static const struct test tests[] = {
	TEST(the_recurrence_gives_the_known_times),
	TEST(a_healthy_job_takes_what_the_recurrence_says),
	TEST(a_slow_worker_is_found_and_is_the_whole_loss),
	TEST(alone_is_the_same_as_one_after_the_other),
	TEST(nodes_together_are_the_same_as_one_by_one),
	TEST(dp_ranks_wait_for_each_other),
	TEST(the_number_of_threads_changes_nothing),
	TEST(one_stage_and_one_rank_are_jobs_too),
};

TEST_SUITE(tests);
