/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts worth replacing: which are found, which are not blamed, and the gain. */
#include <math.h>
#include <stdlib.h>

#include "attribution/attribution.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/attribution/as_trace.h"
#include "tests/attribution/inject.h"
#include "tests/unit/pipeline.h"
#include "tests/unit/test.h"

enum { SEEDS = 4, SEEDS_FULL = 40, ORDERS = 5, ORDERS_FULL = 1000 };

static struct attribution *attribute(struct trace *trace)
{
	struct attribution_options options = ATTRIBUTION_OPTIONS;
	struct attribution *a = NULL;
	struct err err = ERR_INIT;

	options.align = false;
	CHECK_EQ(attribution_new(trace, &options, &a, &err), 0);
	CHECK_STR(err.msg, "");
	return a;
}

/* A job of dp * pp hosts of eight ranks, each a worker, with nothing wrong. */
static struct job *job_of(int dp, int pp, uint64_t seed)
{
	struct job *job = xcalloc(1, sizeof(*job));
	struct job sizes = { .dp = dp, .pp = pp, .mb = 4 * pp, .tp = 8, .steps = 12 };

	injection_job(injection_find("none"), &sizes, seed, job);
	return job;
}

static void slow_down(struct job *job, int d, int p, double factor)
{
	job->slow[job->n_slow++] = (struct job_slow){ d, p, 0, job->steps, factor };
}

static bool is_suspect(const struct attribution *a, int d, int p)
{
	size_t i;

	for (i = 0; i < a->suspects.n; i++) {
		if (a->suspects.list[i].worst == (uint32_t)(d * (int)a->trace->job.pp + p))
			return true;
	}
	return false;
}

static void a_step_gains_what_it_loses_to_the_slow_host(void)
{
	static const struct pipeline slow = { .dp = 4,
					      .pp = 1,
					      .microbatches = 8,
					      .forward = 0.04,
					      .backward = 0.08,
					      .slow_dp = 2,
					      .slow_stage = 0,
					      .slow = 1.25,
					      .collectives = true };
	struct attribution *a = attribute(pipeline_trace(&slow));
	double usual = 8 * 0.12 + PIPELINE_FIXED, time = 8 * 0.12 * 1.25 + PIPELINE_FIXED;

	CHECK_NEAR(a->slowdown.simulated, time, 1e-9);
	CHECK_EQ(a->suspects.n, 1);
	CHECK_EQ(a->suspects.list[0].worst, 2);
	CHECK_NEAR(a->suspects.gain.value, (time - usual) / time, 1e-9);
	CHECK_NEAR(a->suspects.share.value, 1, 1e-9);
	CHECK_NEAR(a->suspects.list[0].alone.value, 1, 1e-9);
	/* Three steps are all there are. */
	CHECK(isnan(a->suspects.gain.low));
	CHECK(!a->suspects.enough && !a->suspects.counts);
	CHECK_EQ(a->suspects.steps_needed, BOOTSTRAP_STEPS_MIN);
	attribution_free(a);
}

static void one_to_three_slow_hosts_are_all_found(void)
{
	static const struct {
		int n;
		int at[3][2];
		double factor[3];
	} rows[] = {
		{ 1, { { 1, 2 } }, { 1.1 } },
		{ 2, { { 0, 1 }, { 3, 1 } }, { 1.2, 1.2 } },
		{ 2, { { 0, 3 }, { 2, 0 } }, { 1.3, 1.2 } },
		{ 3, { { 0, 1 }, { 1, 1 }, { 2, 1 } }, { 1.3, 1.3, 1.3 } },
	};
	size_t i, seed, n = test_times(SEEDS_FULL, SEEDS);
	int j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (seed = 1; seed <= n; seed++) {
			CLEANUP(freep) struct job *job = job_of(rows[i].n == 3 ? 8 : 4, 4, seed);
			struct attribution *a;

			for (j = 0; j < rows[i].n; j++)
				slow_down(job, rows[i].at[j][0], rows[i].at[j][1],
					  rows[i].factor[j]);
			a = attribute(job_as_trace(job));
			CHECK(a->suspects.counts && a->suspects.identifiable && a->suspects.enough);
			CHECK(!a->suspects.transfers);
			CHECK_EQ(a->suspects.n, rows[i].n);
			for (j = 0; j < rows[i].n; j++)
				CHECK(is_suspect(a, rows[i].at[j][0], rows[i].at[j][1]));
			CHECK(a->suspects.gain.low >= SUSPECTS_MIN_GAIN);
			CHECK(a->suspects.gain.low <= a->suspects.gain.value);
			attribution_free(a);
		}
	}
}

/* As many slow hosts as are no longer the exception, and what no host does. */
static void nobody_is_accused_of_what_no_host_does(void)
{
	static const char *const names[] = { "none", "last-stage", "sequences", "pauses",
					     "slow-collectives" };
	size_t i, seed, n = test_times(SEEDS_FULL, SEEDS);

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		for (seed = 1; seed <= n; seed++) {
			CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
			struct job sizes = { .dp = 4, .pp = 4, .mb = 16, .tp = 8, .steps = 12 };
			struct attribution *a;

			injection_job(injection_find(names[i]), &sizes, seed, job);
			a = attribute(job_as_trace(job));
			CHECK(!a->suspects.counts);
			attribution_free(a);
		}
	}
}

static void half_of_the_replicas_are_no_suspects(void)
{
	CLEANUP(freep) struct job *job = job_of(8, 1, 1);
	struct attribution *a;
	int d;

	for (d = 0; d < 4; d++)
		slow_down(job, d, 0, 1.3);
	a = attribute(job_as_trace(job));
	CHECK(!a->suspects.counts);
	attribution_free(a);
}

static void without_a_replica_nobody_is_identifiable(void)
{
	CLEANUP(freep) struct job *job = job_of(1, 4, 1);
	struct attribution *a;

	slow_down(job, 0, 2, 1.5);
	a = attribute(job_as_trace(job));
	CHECK_EQ(a->suspects.n, 1);
	CHECK(is_suspect(a, 0, 2));
	CHECK(a->suspects.gain.value > 0.1);
	CHECK(!a->suspects.identifiable && !a->suspects.counts);
	attribution_free(a);
}

/* The mildest of good hosts that differ: one is always the slowest. */
static void the_slowest_of_good_hosts_is_not_accused(void)
{
	CLEANUP(freep) struct job *job = job_of(8, 2, 3);
	struct attribution *a;
	int i;

	for (i = 0; i < 16; i++)
		slow_down(job, i / 2, i % 2, 1 + 0.1 * i / 16);
	a = attribute(job_as_trace(job));
	CHECK(a->slowdown.s > 1.03);
	CHECK(!a->suspects.counts);
	attribution_free(a);
}

/* Some of the steps are slow: a draw of blocks may have few of them. */
static void what_a_few_steps_show_needs_more_of_them(void)
{
	CLEANUP(freep) struct job *job = job_of(8, 2, 1);
	struct attribution *a;

	slow_down(job, 4, 1, 1.2);
	job->slow[0].to = 7;
	a = attribute(job_as_trace(job));
	CHECK_EQ(a->suspects.n, 1);
	CHECK(is_suspect(a, 4, 1));
	CHECK(a->suspects.gain.value > SUSPECTS_MIN_GAIN);
	CHECK(a->suspects.gain.low < SUSPECTS_MIN_GAIN);
	CHECK(!a->suspects.counts && !a->suspects.enough);
	CHECK(a->suspects.steps_needed > (size_t)job->steps);
	attribution_free(a);
	job->slow[0].to = job->steps;
	a = attribute(job_as_trace(job));
	CHECK(a->suspects.counts && a->suspects.enough);
	attribution_free(a);
}

/* Of two hosts that do the same one is the slower: by how much says the spread of good silicon. */
static void in_a_small_job_it_takes_more(void)
{
	static const struct {
		double factor;
		bool counts;
	} rows[] = { { 1.05, false }, { 1.1, false }, { 1.2, true }, { 1.4, true } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) struct job *job = job_of(2, 2, 1);
		struct attribution *a;

		slow_down(job, 1, 1, rows[i].factor);
		a = attribute(job_as_trace(job));
		CHECK_EQ(a->suspects.counts, rows[i].counts);
		CHECK(is_suspect(a, 1, 1));
		attribution_free(a);
	}
}

/* As much as a real job of four hosts over gloo loses to the one of them that is slow. */
static void of_four_hosts_the_one_that_costs_a_sixth_is_found(void)
{
	size_t seed, n = test_times(SEEDS_FULL, SEEDS);

	for (seed = 1; seed <= n; seed++) {
		CLEANUP(freep) struct job *job = job_of(2, 2, seed);
		struct attribution *a;

		slow_down(job, 0, 1, 1.31);
		a = attribute(job_as_trace(job));
		CHECK_NEAR(a->slowdown.s, 1.17, 0.02);
		CHECK(a->suspects.counts && a->suspects.enough);
		CHECK_EQ(a->suspects.n, 1);
		CHECK(is_suspect(a, 0, 1));
		attribution_free(a);
	}
}

/* A host is beyond the lottery of its job, and apart: nobody else is nearly as slow. */
static void a_tail_is_no_suspect(void)
{
	static const struct {
		const char *what;
		double others[6]; /* how slow some of the 16 are */
		double slow;
		bool counts;
	} rows[] = {
		{ "alone", { 1 }, 1.16, true },
		{ "others spread", { 1.07, 1.06, 0.93, 0.94, 1.05, 0.95 }, 1.16, false },
		{ "others spread, it more", { 1.07, 1.06, 0.93, 0.94, 1.05, 0.95 }, 1.35, true },
		{ "one is nearly as slow", { 1.16 }, 1.21, false },
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) struct job *job = job_of(8, 2, 7);
		struct attribution *a;

		slow_down(job, 5, 0, rows[i].slow);
		for (j = 0; j < ARRAY_SIZE(rows[i].others) && rows[i].others[j] > 0; j++)
			slow_down(job, (int)j / 2, (int)j % 2, rows[i].others[j]);
		a = attribute(job_as_trace(job));
		CHECK_EQ(a->suspects.counts && is_suspect(a, 5, 0) && a->suspects.n == 1,
			 rows[i].counts);
		attribution_free(a);
	}
}

/* That two of a job are sick is rarer than that the lottery made two slow. */
static void two_together_are_slower_than_one_alone(void)
{
	static const struct {
		double slow[2];
		size_t suspects; /* that count */
	} rows[] = {
		{ { 1.1, 1 }, 1 },
		{ { 1.1, 1.1 }, 0 },
		{ { 1.14, 1.14 }, 2 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) struct job *job = job_of(8, 2, 7);
		struct attribution *a;

		slow_down(job, 5, 0, rows[i].slow[0]);
		slow_down(job, 2, 1, rows[i].slow[1]);
		a = attribute(job_as_trace(job));
		CHECK_EQ(a->suspects.counts ? a->suspects.n : 0, rows[i].suspects);
		attribution_free(a);
	}
}

static void a_slow_link_has_two_ends(void)
{
	CLEANUP(freep) struct job *job = job_of(4, 4, 1);
	struct attribution *a;

	job->link_d = 2;
	job->link_p = 1;
	job->link_work = FORWARD;
	job->link_ns = 40 * MS;
	a = attribute(job_as_trace(job));
	CHECK(a->suspects.counts && a->suspects.transfers);
	CHECK_EQ(a->suspects.n, 2);
	CHECK(is_suspect(a, 2, 1) && is_suspect(a, 2, 2));
	attribution_free(a);
}

static void a_trace_that_does_not_add_up_accuses_nobody(void)
{
	CLEANUP(freep) struct job *job = job_of(4, 2, 1);
	struct attribution *a;

	slow_down(job, 1, 1, 1.5);
	job->loading_ns = 900ll * MS;
	a = attribute(job_as_trace(job));
	CHECK_EQ(a->cause.primary, CAUSE_REJECTED);
	CHECK(!a->suspects.counts);
	attribution_free(a);
}

/* Where a host has a whole stage its workers are compared with each other. */
static void a_host_with_a_whole_stage_is_told_by_its_workers(void)
{
	CLEANUP(freep) struct job *job = job_of(4, 4, 1);
	struct attribution *a;

	job->tp = 2; /* so that eight ranks are four workers */
	slow_down(job, 3, 2, 1.4);
	a = attribute(job_as_trace(job));
	CHECK(a->suspects.counts && a->suspects.identifiable);
	CHECK_EQ(a->suspects.n, 1);
	CHECK_EQ(a->suspects.list[0].n, 1);
	CHECK_STR(a->trace->job.nodes[a->suspects.list[0].node], "n002");
	CHECK_EQ(a->suspects.list[0].first_rank, (2 * 4 + 3) * 2);
	CHECK_EQ(a->suspects.list[0].last_rank, (2 * 4 + 3) * 2 + 1);
	attribution_free(a);
}

/* Replicas in another order: who is slow at place d is then at place (d + shift) % dp. */
static void the_order_of_replicas_does_not_matter(void)
{
	CLEANUP(freep) struct job *job = job_of(8, 2, 5);
	size_t n = test_times(ORDERS_FULL, ORDERS), i;
	int d;

	for (i = 0; i < n; i++) {
		struct attribution *a;
		int shift = (int)(i % 8), stage = (int)(i / 8 % 2);

		job->seed = 5 + i;
		job->n_slow = 0;
		for (d = 0; d < 8; d++)
			slow_down(job, (d + shift) % 8, stage, d == 3 ? 1.25 : 1 + 0.01 * d);
		a = attribute(job_as_trace(job));
		CHECK(a->suspects.counts);
		CHECK_EQ(a->suspects.n, 1);
		CHECK(is_suspect(a, (3 + shift) % 8, stage));
		attribution_free(a);
	}
}

static const struct test tests[] = {
	TEST(a_step_gains_what_it_loses_to_the_slow_host),
	TEST(one_to_three_slow_hosts_are_all_found),
	TEST(nobody_is_accused_of_what_no_host_does),
	TEST(half_of_the_replicas_are_no_suspects),
	TEST(without_a_replica_nobody_is_identifiable),
	TEST(the_slowest_of_good_hosts_is_not_accused),
	TEST(what_a_few_steps_show_needs_more_of_them),
	TEST(in_a_small_job_it_takes_more),
	TEST(of_four_hosts_the_one_that_costs_a_sixth_is_found),
	TEST(a_tail_is_no_suspect),
	TEST(two_together_are_slower_than_one_alone),
	TEST(a_slow_link_has_two_ends),
	TEST(a_trace_that_does_not_add_up_accuses_nobody),
	TEST(a_host_with_a_whole_stage_is_told_by_its_workers),
	TEST(the_order_of_replicas_does_not_matter),
};

TEST_SUITE(tests);
