/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs with an injected fault: does attribution find its kind and place? */
#include <stdio.h>
#include <stdlib.h>

#include "attribution/cause.h"
#include "attribution/crew.h"
#include "attribution/trace_build.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/attribution/as_trace.h"
#include "tests/attribution/inject.h"
#include "tests/unit/test.h"

enum { SEEDS = 20, SEEDS_FULL = 100 };

/* What attribution makes of a job. */
struct found {
	struct trace *trace;
	struct graph *graph;
	struct cost cost;
	struct slowdown slowdown;
	struct cause cause;
};

static void found_release(struct found *found)
{
	slowdown_release(&found->slowdown);
	cost_release(&found->cost);
	graph_free(found->graph);
	trace_free(found->trace);
}

static int find(const struct job *job, struct found *found)
{
	struct err err = ERR_INIT;
	int r;

	*found = (struct found){ .trace = job_as_trace(job) };
	if (!found->trace)
		return -1;
	r = graph_new(found->trace, &found->graph, &err);
	if (r == 0)
		r = cost_find(found->trace, found->graph, 1, &found->cost, &err);
	if (r == 0)
		r = slowdown_find(found->trace, found->graph, &found->cost, crew_threads(),
				  &found->slowdown, &err);
	if (r == 0)
		r = slowdown_find_nodes(found->trace, found->graph, &found->cost, crew_threads(),
					&found->slowdown, &err);
	CHECK_STR(err.msg, "");
	if (r == 0)
		found->cause = cause_find(found->trace, &found->slowdown, CAUSE_STRAGGLING);
	return r;
}

static bool has_label(const struct cause *cause, const char *name)
{
	size_t i;

	for (i = 0; i < cause->n_labels; i++) {
		if (streq(cause_name(cause->labels[i]), name))
			return true;
	}
	return false;
}

/* Is the worker one of those that were made slow, or an end of the link? */
static bool is_culprit(const struct job *job, int d, int p)
{
	bool is = d == job->link_d && (p == job->link_p || p == job->link_p + 1);
	int i;

	for (i = 0; i < job->n_slow; i++)
		is |= job->slow[i].d == d && job->slow[i].p == p;
	return is;
}

/*
 * The paper's set has 3 of 100 workers, whoever they are: those that are slow come
 * first in it.
 */
static bool workers_are_right(const struct job *job, const struct found *found)
{
	const struct guilty_set *guilty = found->cause.guilty;
	size_t expected = job->link_d >= 0 ? 1 : (size_t)job->n_slow;
	size_t least = ((size_t)(job->dp * job->pp) * 3 + 99) / 100, i;

	if (!guilty || expected == 0)
		return !guilty && expected == 0;
	if (guilty->n < expected || guilty->n > MAX(expected, least))
		return false;
	for (i = 0; i < expected; i++) {
		if (!is_culprit(job, (int)guilty->workers[i] / job->pp,
				(int)guilty->workers[i] % job->pp))
			return false;
	}
	return true;
}

static bool dropped_are_right(const struct job *job, const struct trace *trace)
{
	size_t i;

	if (trace->n_dropped != (size_t)job->n_lost)
		return false;
	for (i = 0; i < trace->n_dropped; i++) {
		if (trace->dropped[i].step != job->first_step + job->lost[i].step * job->step_gap ||
		    trace->dropped[i].dp_rank != (uint32_t)job->lost[i].d)
			return false;
	}
	return true;
}

static void check_injection(const struct injection *injection, uint64_t seed)
{
	CLEANUP(freep) struct job *job = xcalloc(1, sizeof(*job));
	CLEANUP(found_release) struct found found = { 0 };
	static const struct job any;
	bool label, workers, dropped, exact;

	injection_job(injection, &any, seed, job);
	if (find(job, &found) != 0) {
		CU_FAIL("the trace was refused");
		return;
	}
	label = has_label(&found.cause, injection->label);
	workers = workers_are_right(job, &found);
	dropped = dropped_are_right(job, found.trace);
	exact = job->loading_ns || job->skew_ns[1] || found.slowdown.discrepancy < 1e-9;
	CHECK(label);
	CHECK(workers);
	CHECK(dropped);
	CHECK(exact);
	if (!label || !workers || !dropped || !exact)
		fprintf(stderr, "%s, seed %llu: %s, S %.4f, discrepancy %.2e\n", injection->name,
			(unsigned long long)seed, cause_name(found.cause.primary), found.slowdown.s,
			found.slowdown.discrepancy);
	if (job->n_slow > 1 && streq(injection->label, "node"))
		CHECK_EQ(found.slowdown.top_node,
			 found.trace->job.workers[job->slow[0].d * job->pp + job->slow[0].p].node);
	if (!injection->beside)
		CHECK_STR(cause_name(found.cause.primary), injection->label);
}

static void what_is_wrong_is_found(void)
{
	uint64_t seed;
	int i;

	for (i = 0; i < n_injections; i++) {
		for (seed = 1; seed <= test_times(SEEDS_FULL, SEEDS); seed++)
			check_injection(&injections[i], seed);
	}
}

static void a_seed_gives_the_same_job(void)
{
	static const struct job any;
	CLEANUP(freep) struct job *a = xcalloc(1, sizeof(*a)), *b = xcalloc(1, sizeof(*b));
	CLEANUP(trace_freep) struct trace *one = NULL, *two = NULL;

	injection_job(injection_find("pauses"), &any, 5, a);
	injection_job(injection_find("pauses"), &any, 5, b);
	one = job_as_trace(a);
	two = job_as_trace(b);
	CHECK_EQ(one->n_keys, two->n_keys);
	CHECK(memcmp(one->start, two->start, one->n_keys * one->n_lanes * sizeof(double)) == 0);
	b->seed++;
	trace_free(TAKE(two));
	two = job_as_trace(b);
	CHECK(memcmp(one->start, two->start, one->n_keys * one->n_lanes * sizeof(double)) != 0);
}

static const struct test tests[] = {
	TEST(what_is_wrong_is_found),
	TEST(a_seed_gives_the_same_job),
};

TEST_SUITE(tests);
