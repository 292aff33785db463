/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that were low together in a job, also after they have left it. */
#include "lib/policy/fleet_jobs.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

static void note_twice(struct world *w, unsigned i, const char *check)
{
	note(w, i, check, SEVERITY_FAIL);
	note(w, i, check, SEVERITY_FAIL);
}

/* Job llm-7 on the first 20 of 80 hosts since an hour, and good so far. */
static void a_job_runs_on_a_quarter(struct world *w)
{
	static const char *const jobs[] = { "llm-7" };
	unsigned i;

	world_init(w, RULES, 80);
	w->policy.alike_nodes = 100;
	for (i = 0; i < 20; i++)
		fleet_set_jobs(&w->fleet, world_node(w, i), jobs, 1);
	decide(w);
	later(w, USEC_PER_HOUR);
	decide(w);
}

static void leave_job(struct world *w, unsigned first, unsigned end)
{
	for (; first < end; first++)
		fleet_set_jobs(&w->fleet, world_node(w, first), NULL, 0);
}

static void hosts_that_have_left_a_job_are_told_with_it_for_what_they_were_low_in(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	a_job_runs_on_a_quarter(&w);
	for (i = 0; i < 14; i++)
		note_twice(&w, i, "gemm.rate");
	/* Out of service, or held for a test, a host has no job any more. */
	leave_job(&w, 0, 12);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(w.out.notices[0].kind, NOTICE_JOB);
	CHECK_HAS(w.out.notices[0].sentence, "14 of 20 hosts of job llm-7");
	for (i = 0; i < 14; i++)
		CHECK(world_node(&w, i)->findings->shared);
	CHECK_EQ(count_of(&w, DECIDE_RETEST), 0);
	/* They fail their tests as well, and the last ones leave, too. */
	leave_job(&w, 12, 20);
	for (i = 0; i < 14; i++)
		reproduce(&w, i, "gemm.rate");
	later(&w, USEC_PER_HOUR);
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 0);
}

/* It runs on the first 20 from one time to another, of which nobody is left. */
static void a_job_ran(struct world *w, const uint64_t span_us[static 2])
{
	unsigned i;

	for (i = 0; i < 20; i++)
		fleet_jobs_ran(&w->fleet, world_node(w, i), "llm-7", span_us);
}

static void what_was_bad_at_another_time_is_not_the_jobs(void)
{
	static const struct {
		int64_t from_s, last_s; /* from when 14 of its hosts are bad on */
		size_t notices;
	} rows[] = {
		{ -7200, -901, 0 }, { -7200, -900, 1 }, { -7200, 60, 1 },
		{ 60, 120, 1 },	    { 900, 1800, 1 },	{ 901, 1800, 0 },
	};
	size_t row;
	unsigned i;

	for (row = 0; row < ARRAY_SIZE(rows); row++) {
		CLEANUP(world_release) struct world w;
		uint64_t span_us[2];

		world_init(&w, RULES, 80);
		w.policy.alike_nodes = 100;
		span_us[0] = w.now_us + (uint64_t)(rows[row].from_s * (int64_t)USEC_PER_SEC);
		span_us[1] = w.now_us + (uint64_t)(rows[row].last_s * (int64_t)USEC_PER_SEC);
		for (i = 0; i < 14; i++)
			note_twice(&w, i, "gemm.rate");
		a_job_ran(&w, span_us);
		later(&w, USEC_PER_MIN);
		decide(&w);
		CHECK_EQ(w.out.n_notices, rows[row].notices);
		CHECK_EQ(count_of(&w, DECIDE_RETEST), rows[row].notices ? 0 : 14);
	}
}

/* 14 hosts of a job, ten of which are in one rack of 64: the job is told, then more are found. */
static void a_job_that_is_told_is_not_its_rack(void)
{
	static const char *const jobs[] = { "llm-7" };
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 128);
	for (i = 0; i < 128; i++)
		fleet_set_domain(&w.fleet, world_node(&w, i), i < 64 ? "r1" : "r2");
	for (i = 54; i < 68; i++)
		fleet_set_jobs(&w.fleet, world_node(&w, i), jobs, 1);
	for (i = 60; i < 68; i++)
		note_twice(&w, i, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(w.out.notices[0].kind, NOTICE_JOB);
	later(&w, USEC_PER_MIN);
	for (i = 54; i < 60; i++)
		note_twice(&w, i, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(w.out.notices[0].kind, NOTICE_JOB);
	CHECK_EQ(w.out.notices[0].hosts, 14);
	/* But when others of the rack are bad, too, it is the rack besides. */
	later(&w, USEC_PER_MIN);
	for (i = 30; i < 54; i++)
		note_twice(&w, i, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 2);
	CHECK_EQ(w.out.notices[0].hosts, 4);
	CHECK_EQ(w.out.notices[1].kind, NOTICE_DOMAIN);
	CHECK_EQ(w.out.notices[1].hosts, 34);
}

/* What a job explains is evidence for no setting that its hosts happen to have. */
static void hosts_of_a_told_job_are_no_setting(void)
{
	static const char *const jobs[] = { "llm-7" }, *const kernel[] = { "kernel=6.1" };
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	for (i = 0; i < 14; i++)
		fleet_set_jobs(&w.fleet, world_node(&w, i), jobs, 1);
	for (i = 0; i < 9; i++)
		note_twice(&w, i, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(w.out.notices[0].kind, NOTICE_JOB);
	for (i = 0; i < 8; i++)
		fleet_set_settings(&w.fleet, world_node(&w, i), kernel, 1);
	later(&w, USEC_PER_MIN);
	note_twice(&w, 9, "gemm.rate");
	decide(&w);
	CHECK_EQ(w.out.n_notices, 1);
	CHECK_EQ(w.out.notices[0].kind, NOTICE_JOB);
}

static void a_job_is_forgotten_after_a_day_and_the_one_that_left_first_makes_room(void)
{
	CLEANUP(world_release) struct world w;
	struct fleet_node *node;
	unsigned i;

	world_init(&w, RULES, 1);
	node = world_node(&w, 0);
	for (i = 0; i < 2 * FLEET_RAN_MAX; i++) {
		CLEANUP(freep) char *job = xasprintf("job-%u", i);
		const uint64_t span_us[] = { w.now_us + i, w.now_us + i };

		fleet_jobs_ran(&w.fleet, node, job, span_us);
		fleet_jobs_ran(&w.fleet, node, job, span_us); /* known: no second one */
	}
	CHECK_EQ(node->n_ran, FLEET_RAN_MAX);
	CHECK_EQ(names_find(&w.fleet.jobs, "job-0"), NAME_NONE);
	CHECK(fleet_jobs_has(node, names_find(&w.fleet.jobs, "job-128"), NULL));
	fleet_jobs_note(&w.fleet, node, w.now_us + FLEET_RAN_LATELY_US + FLEET_RAN_MAX);
	CHECK_EQ(node->n_ran, FLEET_RAN_MAX);
	fleet_jobs_note(&w.fleet, node, w.now_us + FLEET_RAN_LATELY_US + FLEET_RAN_MAX + 1);
	CHECK_EQ(node->n_ran, FLEET_RAN_MAX - 1);
	fleet_jobs_note(&w.fleet, node, w.now_us + 2 * FLEET_RAN_LATELY_US);
	CHECK_EQ(node->n_ran, 0);
	CHECK_EQ(names_find(&w.fleet.jobs, "job-255"), NAME_NONE);
}

static const struct test tests[] = {
	TEST(hosts_that_have_left_a_job_are_told_with_it_for_what_they_were_low_in),
	TEST(what_was_bad_at_another_time_is_not_the_jobs),
	TEST(a_job_that_is_told_is_not_its_rack),
	TEST(hosts_of_a_told_job_are_no_setting),
	TEST(a_job_is_forgotten_after_a_day_and_the_one_that_left_first_makes_room),
};

TEST_SUITE(tests);
