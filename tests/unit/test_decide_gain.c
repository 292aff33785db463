/* SPDX-License-Identifier: Apache-2.0 */
/* Of hosts that wait for the same budget, the one with the highest gain for its job is first. */
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/policy/decide.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define DRAINED "{name: drained, match: {check: 'loopback.*'}, action: cordon+drain}"
#define RULES FATAL ", " SLOW ", " DRAINED ", " REST

#define JOB "research/llm-7"

static void open_world(struct world *w, unsigned n)
{
	world_init(w, RULES, n);
	w->policy.total_percent = 100;
	w->policy.total_nodes = n;
	w->policy.rate_cordons = n;
	w->policy.storm_cordons = n;
	w->policy.alike_nodes = n;
	w->policy.per_job = n;
	w->policy.jobs.born_percent = 100;
}

/* The job that blames n<i> gains so much of a step with a good host in its place. */
static void plan(struct world *w, unsigned i, double part, double gpus)
{
	const struct blame found = { .class = BLAME_COMPUTE,
				     .job = (char *)(uintptr_t)JOB,
				     .since_us = w->now_us - USEC_PER_HOUR,
				     .until_us = w->now_us + USEC_PER_DAY,
				     .gain = { true, part, gpus } };

	fleet_set_blame(world_node(w, i), &found);
}

/* Its cordon is wanted from now on, of each host later than of the one before. */
static void make_bad(struct world *w, unsigned i)
{
	later(w, USEC_PER_SEC);
	reproduce(w, i, "gemm.rate");
}

/* One part of it always was slow. */
static void born(struct world *w, unsigned i)
{
	struct finding *finding;

	note(w, i, "gemm.rate", SEVERITY_FAIL);
	finding = note(w, i, "gemm.rate", SEVERITY_FAIL);
	finding->born = true;
	finding->parts = 8;
	finding->parts_bad = 1;
	finding->score = 0.8;
}

/* Who is cordoned, in order: "n001 n002"; with "!" who is not. New memory. */
static char *order_of(const struct world *w, int action)
{
	char *text = xstrdup("");
	size_t i;

	for (i = 0; i < w->out.n; i++) {
		const struct decision *one = &w->out.items[i];
		char *longer;

		if (one->action != action)
			continue;
		longer = xasprintf("%s%s%s%s", text, *text ? " " : "", one->effect ? "" : "!",
				   one->node->name);
		free(text);
		text = longer;
	}
	return text;
}

static void check_order(struct world *w, int action, const char *wanted)
{
	CLEANUP(freep) char *order = NULL;

	decide(w);
	order = order_of(w, action);
	CHECK_STR(order, wanted);
}

static void without_plans_the_oldest_goes_first(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	open_world(&w, 40);
	w.policy.total_nodes = 2;
	for (i = 5; i > 2; i--)
		make_bad(&w, i);
	check_order(&w, DECIDE_CORDON, "n005 n004 !n003");
}

static void where_plans_say_so_the_largest_gain_goes_first(void)
{
	CLEANUP(world_release) struct world w;
	const struct decision *one;

	open_world(&w, 40);
	w.policy.total_nodes = 2;
	make_bad(&w, 3);
	make_bad(&w, 4);
	make_bad(&w, 5);
	plan(&w, 3, 0.02, 64);
	plan(&w, 4, 0.24, 64);
	plan(&w, 5, 0.1, 64);
	check_order(&w, DECIDE_CORDON, "n004 n005 !n003");
	one = find(&w, 4, DECIDE_CORDON);
	CHECK(one != NULL);
	if (one)
		CHECK_HAS(one->reason, "a good host in its place saves " JOB " 24 % of a step");
	CHECK_EQ(find(&w, 3, DECIDE_CORDON)->refused->by, REFUSED_BY_TOTAL);
}

/* 2 of 8 GPUs' worth of work, and 50 of 1,000. */
static void jobs_are_compared_by_the_work_that_they_gain(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, 40);
	make_bad(&w, 3);
	make_bad(&w, 4);
	plan(&w, 3, 0.25, 8);
	plan(&w, 4, 0.05, 1000);
	check_order(&w, DECIDE_CORDON, "n004 n003");
}

static void of_equal_gains_the_oldest_goes_first(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, 40);
	make_bad(&w, 7);
	make_bad(&w, 4);
	make_bad(&w, 5);
	plan(&w, 7, 0.1, 64);
	plan(&w, 4, 0.1, 64);
	plan(&w, 5, 0.1, 64);
	check_order(&w, DECIDE_CORDON, "n007 n004 n005");
}

static void who_has_no_plan_keeps_his_turn(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, 40);
	w.policy.total_nodes = 2;
	make_bad(&w, 3);
	make_bad(&w, 4);
	make_bad(&w, 5);
	plan(&w, 3, 0.01, 64);
	plan(&w, 5, 0.5, 64);
	check_order(&w, DECIDE_CORDON, "n005 n004 !n003");
}

static void what_is_fatal_is_put_behind_nothing(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, 40);
	w.policy.total_nodes = 3;
	make_bad(&w, 3);
	make_bad(&w, 4);
	make_bad(&w, 5);
	plan(&w, 3, 0.4, 64);
	plan(&w, 4, 0.5, 64);
	plan(&w, 5, 0.001, 64);
	later(&w, USEC_PER_MIN);
	note(&w, 6, "gpu.lost", SEVERITY_FATAL); /* its job has no plan */
	note(&w, 5, "gpu.lost", SEVERITY_FATAL);
	check_order(&w, DECIDE_CORDON, "n005 n006 n004 !n003");
}

/* Numbers that are none, and what holds no more. */
static void a_broken_or_old_plan_is_none(void)
{
	static const struct blame_gain broken[] = {
		{ true, NAN, 64 }, { true, -0.1, 64 },	    { true, 1.1, 64 },	{ true, 0.5, 0 },
		{ true, 0.5, -8 }, { true, 0.5, INFINITY }, { true, 0.5, NAN }, { false, 0.5, 64 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(broken) + 1; i++) {
		CLEANUP(world_release) struct world w;

		open_world(&w, 40);
		make_bad(&w, 3);
		make_bad(&w, 4);
		plan(&w, 3, 0.1, 64);
		plan(&w, 4, 0.5, 64);
		if (i < ARRAY_SIZE(broken))
			world_node(&w, 4)->blame.gain = broken[i];
		else
			world_node(&w, 4)->blame.until_us = w.now_us;
		check_order(&w, DECIDE_CORDON, "n003 n004");
		CHECK(!strstr(find(&w, 4, DECIDE_CORDON)->reason, "in its place"));
	}
}

static void all_that_is_found_on_a_host_has_one_turn(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, 40);
	w.policy.total_nodes = 2;
	make_bad(&w, 3);
	later(&w, USEC_PER_SEC);
	reproduce(&w, 3, "gemm.straggler");
	make_bad(&w, 4);
	make_bad(&w, 5);
	plan(&w, 3, 0.1, 64);
	plan(&w, 5, 0.5, 64);
	check_order(&w, DECIDE_CORDON, "n005 n004 !n003");
}

/* jobs.born has one place, and it is given to whom it helps most. */
static void parts_that_always_were_slow_swap_turns_too(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	open_world(&w, 100);
	w.policy.jobs.born_percent = 1;
	for (i = 3; i < 6; i++) {
		later(&w, USEC_PER_SEC);
		born(&w, i);
		plan(&w, i, i == 4 ? 0.4 : 0.1, 64);
	}
	check_order(&w, DECIDE_CORDON, "n004 !n003 !n005");
	CHECK_EQ(find(&w, 3, DECIDE_CORDON)->refused->by, REFUSED_BY_BORN);
	/* One that may go for something else keeps its turn, and goes for that where it must. */
	reproduce(&w, 5, "gemm.straggler");
	check_order(&w, DECIDE_CORDON, "n004 n005 !n003");
	plan(&w, 3, 0.5, 64);
	reproduce(&w, 3, "gemm.straggler");
	check_order(&w, DECIDE_CORDON, "n003 n005 !n004");
}

static void of_one_job_the_largest_gain_is_drained_first(void)
{
	CLEANUP(world_release) struct world w;
	const char *job = JOB;
	unsigned i;

	open_world(&w, 40);
	w.policy.drain_mode = DRAIN_NOW;
	w.policy.alike_per_us = 0; /* they do not wait for the other hosts of their job */
	/* What half of a job shows is of the job. */
	for (i = 3; i < 20; i++)
		fleet_set_jobs(&w.fleet, world_node(&w, i), &job, 1);
	for (i = 3; i < 6; i++) {
		later(&w, USEC_PER_SEC);
		reproduce(&w, i, "loopback.write_bw");
		plan(&w, i, i == 4 ? 0.4 : 0.1, 64);
	}
	decide_and_do(&w);
	CHECK_EQ(count_of(&w, DECIDE_CORDON_DRAIN), 3);
	check_order(&w, DECIDE_DRAIN, "n004");
	world_node(&w, 4)->blame.gain.known = false;
	check_order(&w, DECIDE_DRAIN, "n003");
}

/* --- whatever the plans say --- */

enum { WORLDS = 300, HOSTS = 30 };

/* Which turns there are, and how many of them come before each host: -1: it has none. */
static void count_turns(const struct world *w, int ret[static HOSTS])
{
	int n = 0;
	size_t i;

	for (i = 0; i < HOSTS; i++)
		ret[i] = -1;
	for (i = 0; i < w->out.n; i++) {
		const char *name = w->out.items[i].node->name;

		if (w->out.items[i].action == DECIDE_CORDON)
			ret[strtoul(name + 1, NULL, 10)] = n++;
	}
}

static void draw(struct world *w, struct random *r)
{
	unsigned i;

	for (i = 0; i < HOSTS; i++) {
		const unsigned host = (unsigned)random_below(r, HOSTS);

		later(w, USEC_PER_SEC);
		if (random_below(r, 4) == 0)
			note(w, host, "gpu.lost", SEVERITY_FATAL);
		else if (random_below(r, 3) == 0)
			born(w, host);
		else
			reproduce(w, host, random_below(r, 2) ? "gemm.rate" : "gemm.straggler");
		if (random_below(r, 8) == 0)
			happens(w, host, EVENT_SILENCE);
	}
	for (i = 0; i < HOSTS; i++)
		plan(w, i, (double)random_below(r, 5) / 10, random_below(r, 3) > 0 ? 64 : 0);
}

/* Decided without any plan first, and then with them: who has no plan has the same turn. */
static void nobody_without_a_plan_waits_longer_for_those_with_one(void)
{
	unsigned seed, moved = 0, i;

	for (seed = 0; seed < WORLDS; seed++) {
		CLEANUP(world_release) struct world w;
		struct random r = random_seeded(seed);
		int before[HOSTS], after[HOSTS];

		open_world(&w, HOSTS);
		draw(&w, &r);
		decide(&w);
		count_turns(&w, after);
		for (i = 0; i < HOSTS; i++)
			world_node(&w, i)->blame.gain.known = false;
		decide(&w);
		count_turns(&w, before);
		for (i = 0; i < HOSTS; i++) {
			const struct decision *one = find(&w, i, DECIDE_CORDON);
			const bool planned = world_node(&w, i)->blame.gain.gpus > 0;

			CHECK_EQ(before[i] < 0, after[i] < 0);
			if (one && (one->fatal || !planned))
				CHECK_EQ(before[i], after[i]);
			moved += before[i] != after[i];
		}
	}
	CHECK(moved > WORLDS);
}

static const struct test tests[] = {
	TEST(without_plans_the_oldest_goes_first),
	TEST(where_plans_say_so_the_largest_gain_goes_first),
	TEST(jobs_are_compared_by_the_work_that_they_gain),
	TEST(of_equal_gains_the_oldest_goes_first),
	TEST(who_has_no_plan_keeps_his_turn),
	TEST(what_is_fatal_is_put_behind_nothing),
	TEST(a_broken_or_old_plan_is_none),
	TEST(all_that_is_found_on_a_host_has_one_turn),
	TEST(parts_that_always_were_slow_swap_turns_too),
	TEST(of_one_job_the_largest_gain_is_drained_first),
	TEST(nobody_without_a_plan_waits_longer_for_those_with_one),
};

TEST_SUITE(tests);
