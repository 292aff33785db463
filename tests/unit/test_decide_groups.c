/* SPDX-License-Identifier: Apache-2.0 */
/* A group of hosts that a job blames as a whole: n003 and n004, held together. */
#include "lib/policy/decide_groups.h"

#include "lib/base/xalloc.h"
#include "lib/policy/decide.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

enum { NODES = 40 };

static void blame(struct world *w, unsigned i, int reach)
{
	const struct blame found = { .class = BLAME_COMPUTE,
				     .reach = reach,
				     .job = (char *)(uintptr_t) "research/llm-7",
				     .since_us = w->now_us,
				     .until_us = w->now_us + USEC_PER_DAY,
				     .group = 17 };

	fleet_set_blame(world_node(w, i), &found);
}

static void begin(struct world *w)
{
	world_init(w, RULES, NODES);
	w->policy.jobs.over_evict_hosts = 4;
	w->policy.total_percent = 10; /* four nodes */
	w->policy.hold_at_once = 1;
	blame(w, 3, BLAME_TO_TEST);
	blame(w, 4, BLAME_TO_HOLD);
}

/* Are both to be held, with these words? */
static bool both_held(const struct world *w)
{
	return find(w, 3, DECIDE_HOLD) && find(w, 4, DECIDE_HOLD) &&
	       strstr(find(w, 3, DECIDE_HOLD)->reason, "which of its hosts");
}

static void it_is_held_as_a_whole_and_only_whose_turn_it_is_is_tested(void)
{
	CLEANUP(world_release) struct world w;

	begin(&w);
	decide_and_do(&w);
	CHECK(both_held(&w));
	CHECK_STR(find(&w, 4, DECIDE_HOLD)->rule, DECIDE_BLAMED_RULE);
	CHECK_EQ(count_of(&w, DECIDE_HOLD), 2);
	CHECK(!find(&w, 3, DECIDE_DEEP)); /* once it is held */
	later(&w, USEC_PER_SEC);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_DEEP) && !find(&w, 4, DECIDE_DEEP));
	CHECK_EQ(count_of(&w, DECIDE_HOLD) + count_of(&w, DECIDE_UNHOLD), 0);
	/* A new controller has not heard yet what jobs say: nobody is let go for that. */
	fleet_set_blame(world_node(&w, 4), NULL);
	w.fleet.awaits_blames = true;
	decide_and_do(&w);
	CHECK(!find(&w, 4, DECIDE_UNHOLD));
	w.fleet.awaits_blames = false;
	/* Who is cleared is back, and the other stays. */
	decide_and_do(&w);
	CHECK(find(&w, 4, DECIDE_UNHOLD) && !find(&w, 3, DECIDE_UNHOLD));
	CHECK(!(world_node(&w, 4)->out & OUT_HOLD) && world_node(&w, 3)->out & OUT_HOLD);
}

static void runs_a_job(struct world *w)
{
	static const char *const jobs[] = { "research/moe-2" };

	fleet_set_jobs(&w->fleet, world_node(w, 4), jobs, 1);
}

static void off(struct world *w)
{
	w->policy.jobs.over_evict_hosts = 0;
}

static void too_large(struct world *w)
{
	w->policy.jobs.over_evict_hosts = 1;
}

static void no_total(struct world *w)
{
	w->policy.total_percent = 3; /* one */
}

static void one_rack(struct world *w)
{
	w->policy.domain_label = xstrdup("rack");
	w->policy.domain_max = 1;
	fleet_set_domain(&w->fleet, world_node(w, 3), "r1");
	fleet_set_domain(&w->fleet, world_node(w, 4), "r1");
}

static void opted_out(struct world *w)
{
	world_node(w, 4)->managed = false;
}

static void told_alone(struct world *w)
{
	blame(w, 3, BLAME_TO_TELL);
	blame(w, 4, BLAME_TO_TELL);
}

static void breaker_is_open(struct world *w)
{
	(void)breaker_open(&w->breaker, BREAKER_STORM, w->now_us, "a storm");
}

static void others_cordon(struct world *w)
{
	world_node(w, 4)->out |= OUT_OTHERS;
}

static void what_stands_against_one_of_them_stands_against_the_group(void)
{
	static void (*const changes[])(struct world *) = {
		runs_a_job, off,	one_rack,	 too_large,	no_total,
		opted_out,  told_alone, breaker_is_open, others_cordon,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		CLEANUP(world_release) struct world w;

		begin(&w);
		changes[i](&w);
		decide_and_do(&w);
		CHECK(!find(&w, 4, DECIDE_HOLD));
		CHECK(!find(&w, 3, DECIDE_HOLD) ||
		      !strstr(find(&w, 3, DECIDE_HOLD)->reason, "which of its hosts"));
	}
}

static void groups_take_no_place_of_single_hosts_and_these_none_of_theirs(void)
{
	CLEANUP(world_release) struct world w;
	struct blame alone = { .class = BLAME_COMPUTE, .reach = BLAME_TO_TEST };

	begin(&w);
	decide_and_do(&w);
	CHECK(both_held(&w));
	later(&w, USEC_PER_SEC);
	alone.since_us = w.now_us;
	alone.until_us = w.now_us + USEC_PER_DAY;
	fleet_set_blame(world_node(&w, 9), &alone);
	decide_and_do(&w);
	CHECK(find(&w, 9, DECIDE_HOLD)); /* hold.at_once is 1 */
}

static void budgets_count_those_that_are_decided_together(void)
{
	CLEANUP(world_release) struct world w;
	size_t i;

	begin(&w);
	/* A second group, for which there is no room in jobs.over_evict.hosts. */
	for (i = 5; i < 8; i++) {
		blame(&w, (unsigned)i, BLAME_TO_HOLD);
		world_node(&w, (unsigned)i)->blame.group = 18;
	}
	w.policy.total_percent = 50;
	decide_and_do(&w);
	CHECK(both_held(&w));
	CHECK_EQ(count_of(&w, DECIDE_HOLD), 2);
	w.policy.jobs.over_evict_hosts = 5;
	later(&w, USEC_PER_SEC);
	decide_and_do(&w);
	CHECK(find(&w, 5, DECIDE_HOLD) && find(&w, 6, DECIDE_HOLD) && find(&w, 7, DECIDE_HOLD));
}

static void no_test_of_one_ends_its_hold_until_it_is_cleared(void)
{
	static const int outcomes[] = { TEST_PASSED, TEST_FAILED, TEST_NOTHING };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(outcomes); i++) {
		CLEANUP(world_release) struct world w;
		struct fleet_test test = { .outcome = outcomes[i], .deep = true };

		begin(&w);
		decide_and_do(&w);
		later(&w, USEC_PER_MIN);
		test.at_us = w.now_us;
		(void)fleet_tested(&w.fleet, world_node(&w, 3), &test);
		decide_and_do(&w);
		CHECK(!find(&w, 3, DECIDE_UNHOLD) && world_node(&w, 3)->out & OUT_HOLD);
	}
}

static void what_lies_between_the_hosts_shows_what_the_group_suffers_from(void)
{
	CLEANUP(world_release) struct world w;

	begin(&w);
	CHECK(blame_agrees(&world_node(&w, 3)->blame, "all_reduce.busbw", w.now_us, w.now_us));
	CHECK(blame_agrees(&world_node(&w, 3)->blame, "gemm.rate", w.now_us, w.now_us));
	CHECK(!blame_agrees(&world_node(&w, 3)->blame, "all_reduce.correct", w.now_us, w.now_us));
	CHECK(!blame_agrees(&world_node(&w, 3)->blame, "host.steal", w.now_us, w.now_us));
	world_node(&w, 3)->blame.group = 0;
	CHECK(!blame_agrees(&world_node(&w, 3)->blame, "all_reduce.busbw", w.now_us, w.now_us));
	CHECK(!blame_shows_group(BLAME_JOB, "all_reduce.busbw"));
}

enum { SEEDS = 300, STEPS = 60, GROUPS = 6, OF_GROUP = 4, RACKS = 5 };

/* A host of a group: a job comes or goes, a job begins to blame the group or ends to, a test ends. */
static void change(struct world *w, struct random *random)
{
	static const char *const jobs[] = { "research/moe-2" };
	const unsigned i = (unsigned)random_below(random, GROUPS * OF_GROUP);
	struct fleet_node *node = world_node(w, i);
	struct fleet_test test = { .outcome = (int)random_below(random, 3),
				   .deep = true,
				   .at_us = w->now_us };
	unsigned k;

	switch (random_below(random, 5)) {
	case 0:
		fleet_set_jobs(&w->fleet, node, jobs, random_below(random, 2));
		break;
	case 1:
		for (k = i - i % OF_GROUP; k < i - i % OF_GROUP + OF_GROUP; k++) {
			blame(w, k, k % 2 ? BLAME_TO_HOLD : BLAME_TO_TEST);
			world_node(w, k)->blame.group = 1 + i / OF_GROUP;
		}
		break;
	case 2:
		fleet_set_blame(node, NULL);
		break;
	case 3:
		if (node->record.ordered_us > 0)
			(void)fleet_tested(&w->fleet, node, &test);
		break;
	default:
		node->out ^= OUT_OTHERS;
	}
}

/* Who is held now has room in both budgets, is blamed or tested, and runs no job. */
static void check_holds(const struct world *w)
{
	CLEANUP(budget_release) struct budget now = { 0 };
	size_t i, held = 0;

	budget_count(&now, &w->policy, &w->fleet, &w->breaker, w->now_us);
	for (i = 0; i < w->fleet.n; i++) {
		const struct fleet_node *node = w->fleet.nodes[i];

		held += (node->out & OUT_HOLD) != 0;
		CHECK(!find(w, (unsigned)i, DECIDE_HOLD) ||
		      !find(w, (unsigned)i, DECIDE_HOLD)->effect || budget_holds(&now, node));
		CHECK(!(node->out & OUT_HOLD) || node->record.ordered_us > 0 ||
		      (blame_holds(&node->blame, w->now_us) && node->n_jobs == 0));
	}
	CHECK(held <= w->policy.jobs.over_evict_hosts + w->policy.hold_at_once);
}

static void whatever_happens_budgets_hold_and_nobody_stays_held(void)
{
	uint64_t seed, wholes = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		CLEANUP(world_release) struct world w;
		struct random random = random_seeded(seed);
		unsigned i;

		begin(&w);
		fleet_set_blame(world_node(&w, 3), NULL);
		fleet_set_blame(world_node(&w, 4), NULL);
		w.policy.jobs.over_evict_hosts = random_below(&random, 9);
		w.policy.total_percent = (double)random_below(&random, 31);
		w.policy.hold_at_once = random_below(&random, 3);
		w.policy.domain_label = xstrdup("rack");
		w.policy.domain_max = 1 + random_below(&random, 4);
		for (i = 0; i < NODES; i++) {
			CLEANUP(freep) char *rack = xasprintf("r%u", i % RACKS);

			fleet_set_domain(&w.fleet, world_node(&w, i), rack);
		}
		for (i = 0; i < STEPS; i++) {
			change(&w, &random);
			later(&w, USEC_PER_MIN);
			decide_and_do(&w);
			wholes += find(&w, 0, DECIDE_HOLD) && find(&w, 1, DECIDE_HOLD);
			check_holds(&w);
		}
	}
	CHECK(wholes > 0);
}

static const struct test tests[] = {
	TEST(it_is_held_as_a_whole_and_only_whose_turn_it_is_is_tested),
	TEST(what_stands_against_one_of_them_stands_against_the_group),
	TEST(groups_take_no_place_of_single_hosts_and_these_none_of_theirs),
	TEST(budgets_count_those_that_are_decided_together),
	TEST(no_test_of_one_ends_its_hold_until_it_is_cleared),
	TEST(whatever_happens_budgets_hold_and_nobody_stays_held),
	TEST(what_lies_between_the_hosts_shows_what_the_group_suffers_from),
};

TEST_SUITE(tests);
