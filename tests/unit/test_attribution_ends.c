/* SPDX-License-Identifier: Apache-2.0 */
/* Aligning clocks by operations that end together, and the lateness that follows. */
#include <math.h>
#include <stdlib.h>

#include "attribution/ends.h"
#include "attribution/lateness.h"
#include "attribution/trace_build.h"
#include "tests/attribution/as_trace.h"
#include "tests/unit/test.h"

static struct job job_of(int dp, int pp, int steps)
{
	return (struct job){ .seed = 5,
			     .last_stage = 1,
			     .noise = 0.02,
			     .link_d = -1,
			     .slow_group = -1,
			     .dp = dp,
			     .pp = pp,
			     .mb = 4,
			     .vpp = 1,
			     .tp = 1,
			     .steps = steps,
			     .step_gap = 1,
			     .forward_ns = 30 * MS,
			     .backward_ns = 60 * MS,
			     .transfer_ns = 0.5 * MS,
			     .together = true };
}

/* Its steps follow each other, a second apart, as a clock would say that is off and drifts. */
static struct trace *skewed(const struct job *job, double offset, double drift)
{
	struct trace *trace = job_as_trace(job);
	size_t key, lane;

	for (lane = 0; lane < trace->n_steps; lane++)
		trace->began[lane] = (double)lane;
	for (key = 0; key < trace->n_keys; key++) {
		for (lane = 0; lane < trace->n_lanes; lane++) {
			const size_t d = lane % trace->job.dp, p = trace->keys[key].stage;
			const double sign = (d + p) % 2 ? 1 : -0.5;
			double *start = &trace->start[key * trace->n_lanes + lane];

			*start +=
				sign * (offset + drift * ((double)(lane / trace->job.dp) + *start));
		}
	}
	return trace;
}

/* How much more some operations of a step are off than others: whose clock is right, nobody knows. */
static double worst_apart(const struct trace *a, const struct trace *b)
{
	double worst = 0;
	size_t step, i;

	for (step = 0; step < a->n_steps; step++) {
		double least = INFINITY, most = -INFINITY;

		for (i = 0; i < a->n_keys * a->job.dp; i++) {
			const size_t at =
				i / a->job.dp * a->n_lanes + step * a->job.dp + i % a->job.dp;
			const double apart = a->start[at] - b->start[at];

			least = fmin(least, apart);
			most = fmax(most, apart);
		}
		worst = fmax(worst, most - least);
	}
	return worst;
}

static void clocks_are_put_right_by_the_ends(void)
{
	static const struct {
		int dp, pp;
		double offset, drift;
	} rows[] = {
		{ 4, 1, 0.0003, 0 },	 { 4, 1, 0.005, 5e-6 }, { 2, 4, 0.002, 5e-6 },
		{ 1, 4, 0.0005, -5e-6 }, { 8, 2, 0.05, 20e-6 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct job job = job_of(rows[i].dp, rows[i].pp, 12);
		CLEANUP(trace_freep) struct trace *right = skewed(&job, 0, 0);
		CLEANUP(trace_freep)
		struct trace *wrong = skewed(&job, rows[i].offset, rows[i].drift);
		struct ends ends = ends_find(right);

		CHECK(ends.agree && !ends.differ);
		ends_release(&ends);
		ends = ends_find(wrong);
		CHECK(ends.agree && ends.differ);
		CHECK(worst_apart(wrong, right) > rows[i].offset / 2);
		ends_correct(wrong, &ends);
		/* All drift alike then, within a step of at most a second. */
		CHECK(worst_apart(wrong, right) < 2e-6 + 2 * fabs(rows[i].drift));
		ends_release(&ends);
	}
}

static void change(struct trace *trace, enum optype type, size_t worker, double add, double scatter)
{
	const size_t dp = trace->job.dp, pp = trace->job.pp;
	size_t key, lane;

	for (key = 0; key < trace->n_keys; key++) {
		for (lane = 0; trace->keys[key].type == type && lane < trace->n_lanes; lane++) {
			if (lane % dp * pp + trace->keys[key].stage == worker)
				trace->duration[key * trace->n_lanes + lane] +=
					add + scatter * (double)(lane / dp % 5);
		}
	}
}

static void what_the_ends_do_not_all_say_is_not_said(void)
{
	static const struct {
		int dp, pp, steps;
		enum optype type;
		double add, scatter;
		bool agree;
	} rows[] = {
		{ 4, 1, 12, OP_GRADS_REDUCE_SCATTER, 0, 0, true },
		{ 4, 1, 7, OP_GRADS_REDUCE_SCATTER, 0, 0, false },     /* too few */
		{ 4, 1, 12, OP_GRADS_REDUCE_SCATTER, 1e-3, 0, false }, /* late at one alone */
		{ 4, 1, 12, OP_GRADS_REDUCE_SCATTER, 0, 1e-3,
		  true }, /* that scatters, others tell */
		{ 4, 2, 12, OP_CLIP_MAIN_GRAD, 1e-3, 0, false },
		{ 4, 2, 12, OP_FORWARD_RECV, 1e-3, 0, false },
		{ 4, 2, 12, OP_GRADS_REDUCE_SCATTER, 20e-6, 0, true }, /* the last hop */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct job job = job_of(rows[i].dp, rows[i].pp, rows[i].steps);
		CLEANUP(trace_freep) struct trace *trace = skewed(&job, 0.002, 0);
		struct ends ends;

		change(trace, rows[i].type, (size_t)(2 * rows[i].pp - 1), rows[i].add,
		       rows[i].scatter);
		ends = ends_find(trace);
		CHECK_EQ(ends.agree, rows[i].agree);
		ends_release(&ends);
	}
}

static void a_worker_that_nothing_connects_leaves_all_as_they_are(void)
{
	const struct job job = job_of(4, 1, 12);
	CLEANUP(trace_freep) struct trace *trace = skewed(&job, 0.002, 0);
	struct ends ends;

	change(trace, OP_GRADS_REDUCE_SCATTER, 2, 0, 1e-3);
	change(trace, OP_PARAMS_ALL_GATHER, 2, 0, 1e-3);
	change(trace, OP_CLIP_MAIN_GRAD, 2, 0, 1e-3);
	ends = ends_find(trace);
	CHECK(!ends.agree && !ends.differ);
	ends_release(&ends);
}

/* Two neighbours whose transfers alone tell it, of 48 each way: 12 us is no more than chance. */
static void what_scatters_as_much_does_not_differ(void)
{
	const struct job job = job_of(1, 2, 12);
	CLEANUP(trace_freep) struct trace *trace = skewed(&job, 0, 0);
	struct ends ends;

	change(trace, OP_EMBEDDING_GRADS, 1, 0, 1e-3);
	change(trace, OP_CLIP_MAIN_GRAD, 1, 0, 1e-3);
	change(trace, OP_FORWARD_RECV, 1, 6e-6, 10e-6);
	ends = ends_find(trace);
	CHECK(ends.agree && !ends.differ);
	ends_release(&ends);
	change(trace, OP_FORWARD_RECV, 1, 40e-6, 0);
	ends = ends_find(trace);
	CHECK(ends.agree && ends.differ);
	ends_release(&ends);
}

/* One has the embedding and moves more: no trace says how much. */
static void collectives_of_a_stage_are_no_slow_link(void)
{
	struct job job = job_of(4, 4, 12);
	CLEANUP(trace_freep) struct trace *trace = NULL;
	struct lateness lateness;

	job.slow_group = 1;
	job.group_ns = 2 * MS;
	trace = skewed(&job, 0, 0);
	lateness = lateness_find(trace, true, 0, 1);
	CHECK(!lateness.why);
	CHECK_EQ(lateness.found.n_links, 0);
	lateness_release(&lateness);
}

static const struct test tests[] = {
	TEST(clocks_are_put_right_by_the_ends),
	TEST(what_the_ends_do_not_all_say_is_not_said),
	TEST(a_worker_that_nothing_connects_leaves_all_as_they_are),
	TEST(what_scatters_as_much_does_not_differ),
	TEST(collectives_of_a_stage_are_no_slow_link),
};

TEST_SUITE(tests);
