/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes are paired, and which are blamed, case by case. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "tests/unit/pairing_world.h"
#include "tests/unit/test.h"

enum { ONE_LEAF = 64 };

static void good_nodes_are_left_alone_after_two_rounds(void)
{
	CLEANUP(world_freep) struct world *w = world_new(16, 1, 8, 1);
	struct pairing_step step;

	w->noise = 0.02;
	CHECK_EQ(world_play(w, &step), PAIRING_ROUNDS_LEAST);
	CHECK_EQ(step.n_blames, 0);
	CHECK_EQ(w->n_groups, 16);
}

static void a_slow_node_is_named_after_its_second_partner(void)
{
	CLEANUP(world_freep) struct world *w = world_new(8, 1, 8, 2);
	struct pairing_step step;

	w->noise = 0.02;
	w->node[5] = 0.5;
	CHECK_EQ(world_play(w, &step), 2);
	CHECK_EQ(step.n_blames, 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 5), 1);
	CHECK_NEAR(step.blames[0].ratio, 0.5, 0.05);
	CHECK_EQ(step.blames[0].n_partners, 2);
	CHECK_HAS(step.blames[0].words, "gpu-5 reaches");
	CHECK_HAS(step.blames[0].words, "with 2 partners");
}

static void after_one_round_it_is_one_of_two(void)
{
	CLEANUP(world_freep) struct world *w = world_new(8, 1, 8, 3);
	struct pairing_step step;

	w->noise = 0.02;
	w->node[5] = 0.5;
	world_step(w, &step);
	world_round(w, &step.next);
	world_step(w, &step);
	CHECK(!step.done);
	CHECK_EQ(world_certain(&step), 0);
	CHECK(world_has_why(&step, PAIRING_WHY_TWINS));
	CHECK_HAS(step.blames[0].words, "equally explained by gpu-");
}

static void a_node_that_never_arrives_is_named(void)
{
	CLEANUP(world_freep) struct world *w = world_new(9, 1, 16, 4);
	struct pairing_step step;

	w->dead[4] = true;
	(void)world_play(w, &step);
	CHECK_EQ(world_certain(&step), 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 4), 1);
	CHECK(step.blames[0].absent && isnan(step.blames[0].ratio));
	CHECK_HAS(step.blames[0].words, "gpu-4 did not arrive, with 2 partners");
}

static void who_dies_between_rounds_is_not_blamed_for_its_rate(void)
{
	CLEANUP(world_freep) struct world *w = world_new(8, 1, 8, 5);
	struct pairing_step step;

	w->noise = 0.02;
	w->node[2] = 0.5;
	w->dies_at[2] = 1;
	(void)world_play(w, &step);
	CHECK_EQ(world_certain(&step), 0);
	CHECK(world_has_why(&step, PAIRING_WHY_GONE));
	CHECK_HAS(step.blames[0].words, "gpu-2");
	CHECK_HAS(step.blames[0].words, "it is gone");
}

static void a_good_node_that_dies_disturbs_nobody(void)
{
	CLEANUP(world_freep) struct world *w = world_new(8, 1, 8, 6);
	struct pairing_step step;

	w->noise = 0.02;
	w->node[2] = 0.5;
	w->dies_at[6] = 1;
	(void)world_play(w, &step);
	CHECK_EQ(world_certain(&step), 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 2), 1);
}

static void when_all_are_slow_nobody_is_blamed(void)
{
	CLEANUP(world_freep) struct world *w = world_new(12, 1, 4, 7);
	struct pairing_step step;

	w->line = 20e9;
	(void)world_play(w, &step);
	CHECK_EQ(step.n_blames, 0);

	w->problem.fleet = (struct center){ .median = 50e9, .sigma = 1e9, .n = 40 };
	world_step(w, &step);
	CHECK(step.done);
	CHECK_EQ(world_certain(&step), 0);
	CHECK(world_has_why(&step, PAIRING_WHY_ALL_SLOW));
	CHECK_HAS(step.blames[0].words, "all are slow");
}

static void a_bad_switch_is_not_its_nodes(void)
{
	CLEANUP(world_freep) struct world *w = world_new(24, 1, 8, 8);
	struct pairing_step step;

	w->noise = 0.02;
	w->leaf[1][0] = 0.5;
	(void)world_play(w, &step);
	CHECK_EQ(step.n_blames, 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_LEAF, SIZE_MAX), 1);
	CHECK_STR(step.blames[0].leaf, "leaf-1.0");
	CHECK_HAS(step.blames[0].words, "switch leaf-1.0 reaches");
}

static void two_bad_nodes_below_one_switch_are_not_the_switch(void)
{
	size_t seed;

	for (seed = 0; seed < 20; seed++) {
		CLEANUP(world_freep) struct world *w = world_new(12, 1, 4, seed);
		struct pairing_step step;

		w->noise = 0.02;
		w->node[4] = w->node[6] = 0.5;
		(void)world_play(w, &step);
		CHECK_EQ(world_certain(&step), 2);
		CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 4), 1);
		CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 6), 1);
	}
}

/* Nothing tells two bad nodes from the switch that only they are below. */
static void a_switch_of_two_is_undecided(void)
{
	CLEANUP(world_freep) struct world *w = world_new(10, 1, 8, 9);
	struct pairing_step step;

	w->noise = 0.02;
	w->leaf[1][0] = 0.5;
	(void)world_play(w, &step);
	CHECK_EQ(world_certain(&step), 0);
	CHECK(step.n_blames > 0);
}

static void two_nodes_tell_nothing(void)
{
	CLEANUP(world_freep) struct world *w = world_new(2, 1, 8, 10);
	struct pairing_step step;

	w->node[1] = 0.5;
	CHECK(world_play(w, &step) <= 3);
	CHECK_EQ(step.n_blames, 1);
	CHECK(world_has_why(&step, PAIRING_WHY_ALIKE));

	/* The fleet tells that something is wrong, not with whom. */
	w->problem.fleet = (struct center){ .median = 50e9, .sigma = 1e9, .n = 40 };
	world_step(w, &step);
	CHECK_EQ(world_certain(&step), 0);
	CHECK(world_has_why(&step, PAIRING_WHY_ALL_SLOW));

	w->problem.fleet.median = 25e9;
	world_step(w, &step);
	CHECK_EQ(step.n_blames, 0);
}

static void of_three_one_can_be_told_and_two_cannot(void)
{
	CLEANUP(world_freep) struct world *w = world_new(3, 1, 8, 11);
	CLEANUP(world_freep) struct world *both = world_new(3, 1, 8, 11);
	struct pairing_step step;

	w->noise = both->noise = 0.02;
	w->node[1] = both->node[1] = both->node[2] = 0.5;
	CHECK_EQ(world_play(w, &step), 3);
	CHECK_EQ(world_certain(&step), 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 1), 1);
	(void)world_play(both, &step);
	CHECK_EQ(world_certain(&step), 0);
}

static void nobody_and_one_are_done_at_once(void)
{
	CLEANUP(world_freep) struct world *one = world_new(1, 1, 8, 12);
	CLEANUP(world_freep) struct world *none = world_new(0, 1, 8, 12);
	struct pairing_step step;

	CHECK_EQ(world_play(one, &step), 0);
	CHECK_EQ(world_certain(&step), 0);
	CHECK_EQ(world_play(none, &step), 0);
}

static void a_slow_rail_is_a_link_of_its_node(void)
{
	CLEANUP(world_freep) struct world *w = world_new(8, 4, 8, 13);
	struct pairing_step step;

	w->nic[3][2] = 0.5;
	(void)world_play(w, &step);
	CHECK_EQ(step.n_blames, 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_LINK, 3), 1);
	CHECK_EQ(step.blames[0].rail, 2);
	CHECK_HAS(step.blames[0].words, "rail 2 of gpu-3");
	CHECK_HAS(step.blames[0].words, "its NIC or the link");

	/* The NIC passed inside the host: what is slow lies behind it. */
	w->nodes[3].nic_passed[2] = true;
	world_step(w, &step);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_UPLINK, 3), 1);
	CHECK_HAS(step.blames[0].words, "as the NIC's loopback passed");
}

static void on_rails_one_switch_of_a_unit_is_told(void)
{
	CLEANUP(world_freep) struct world *w = world_new(16, 4, 8, 14);
	struct pairing_step step;

	w->leaf[1][3] = 0.5;
	(void)world_play(w, &step);
	CHECK_EQ(step.n_blames, 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_LEAF, SIZE_MAX), 1);
	CHECK_STR(step.blames[0].leaf, "leaf-1.3");
}

static void who_shares_one_rail_runs_on_that_rail(void)
{
	CLEANUP(world_freep) struct world *w = world_new(2, 2, 1, 15);
	struct pairing_step step;

	w->nodes[1].leaf[1] = w->nodes[0].leaf[1];
	world_step(w, &step);
	CHECK_EQ(step.next.n_groups, 1);
	CHECK_EQ(step.next.groups[0].rail, 1);
	CHECK(!step.next.groups[0].cross);

	w->nodes[1].leaf[1] = "elsewhere";
	world_step(w, &step);
	CHECK_EQ(step.next.groups[0].rail, PAIRING_RAIL_ALL);
	CHECK(step.next.groups[0].cross);
}

static void unequal_groups_play_at_home_first(void)
{
	CLEANUP(world_freep) struct world *w = world_new(17, 1, 8, 16);
	struct pairing_step step;
	size_t i, cross = 0;

	w->noise = 0.02;
	for (i = 0; i < 17; i++)
		world_place(w, i, i < 3 ? 0 : i < 8 ? 1 : 2);
	w->node[1] = w->node[12] = 0.5;
	world_step(w, &step);
	CHECK_EQ(step.next.n_groups, 8);
	for (i = 0; i < step.next.n_groups; i++)
		cross += step.next.groups[i].cross;
	/* Three groups of odd size: one pair of those who are left over. */
	CHECK_EQ(cross, 1);
	(void)world_play(w, &step);
	CHECK_EQ(world_certain(&step), 2);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 1), 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 12), 1);
}

static void a_narrow_way_between_switches_is_no_fault(void)
{
	size_t seed;

	for (seed = 0; seed < 20; seed++) {
		CLEANUP(world_freep) struct world *w = world_new(15, 1, 5, seed);
		struct pairing_step step;

		w->cross = 0.4;
		w->node[7] = 0.6;
		(void)world_play(w, &step);
		CHECK_EQ(world_certain(&step), world_count(&step, PAIRING_BLAME_NODE, 7));
	}
}

static void a_suspect_meets_somebody_good_in_the_first_round(void)
{
	CLEANUP(world_freep) struct world *w = world_new(8, 1, 8, 17);
	struct pairing_step step;
	size_t i;

	w->nodes[0].state = w->nodes[1].state = PAIRING_SUSPECT;
	w->nodes[6].state = w->nodes[7].state = PAIRING_KNOWN_GOOD;
	world_step(w, &step);
	for (i = 0; i < step.next.n_groups; i++) {
		size_t a = step.next.seats[2 * i], b = step.next.seats[2 * i + 1];

		CHECK((MIN(a, b) <= 1) == (MAX(a, b) >= 6));
	}
}

static void in_a_tournament_every_two_meet_once(void)
{
	CLEANUP(world_freep) struct world *w = world_new(12, 1, 6, 18);
	struct pairing_step step;
	unsigned met[12][12] = { { 0 } };
	size_t i, a, b;

	w->problem.plan = PAIRING_TOURNAMENT;
	w->problem.rounds_max = 5;
	CHECK_EQ(world_play(w, &step), 5);
	CHECK_EQ(step.n_blames, 0);
	for (i = 0; i < w->problem.n_results; i++)
		met[w->results[i].members[0]][w->results[i].members[1]]++;
	for (a = 0; a < 12; a++) {
		for (b = 0; b < a; b++)
			CHECK_EQ(met[a][b] + met[b][a], a / 6 == b / 6);
	}
}

static void every_two_meet_once_whatever_lies_between_them(void)
{
	CLEANUP(world_freep) struct world *w = world_new(5, 1, 3, 18);
	struct pairing_step step;
	unsigned met[5][5] = { { 0 } };
	size_t i, a, b;

	w->problem.plan = PAIRING_EVERY_TWO; /* as many rounds as that takes */
	CHECK_EQ(world_play(w, &step), 5);
	CHECK_EQ(pairing_rounds_of(PAIRING_EVERY_TWO, 6), 5);
	CHECK_EQ(pairing_rounds_of(PAIRING_EVERY_TWO, 1), 0);
	CHECK_EQ(pairing_rounds_of(PAIRING_BISECT, 6), pairing_rounds_max(6));
	for (i = 0; i < w->problem.n_results; i++)
		met[w->results[i].members[0]][w->results[i].members[1]]++;
	for (a = 0; a < 5; a++) {
		for (b = 0; b < a; b++)
			CHECK_EQ(met[a][b] + met[b][a], 1);
	}
}

static void bisection_takes_fewer_runs(void)
{
	CLEANUP(world_freep) struct world *w = world_new(64, 1, ONE_LEAF, 19);
	struct pairing_step step;

	w->noise = 0.02;
	w->node[33] = 0.5;
	w->problem.plan = PAIRING_BISECT;
	CHECK(world_play(w, &step) <= pairing_rounds_max(64));
	CHECK_EQ(world_certain(&step), 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 33), 1);
	CHECK(w->n_groups < 24);
}

static void the_same_problem_gives_the_same_step(void)
{
	CLEANUP(world_freep) struct world *w = world_new(32, 1, 8, 20);
	struct pairing_step one, two;

	world_step(w, &one);
	world_step(w, &two);
	CHECK_EQ(memcmp(one.next.seats, two.next.seats, sizeof(one.next.seats)), 0);
	w->problem.seed++;
	world_step(w, &two);
	CHECK(memcmp(one.next.seats, two.next.seats, sizeof(one.next.seats)) != 0);
}

static void a_group_that_did_not_run_says_nothing(void)
{
	CLEANUP(world_freep) struct world *w = world_new(4, 1, 8, 21);
	const size_t members[] = { 0, 1 };
	struct pairing_step step;

	w->problem.rounds_made = 4;
	w->results[0] = (struct pairing_result){
		.members = members, .n = 2, .rail = PAIRING_RAIL_ALL, .outcome = PAIRING_NOT_RUN
	};
	w->problem.n_results = 1;
	world_step(w, &step);
	CHECK(step.done);
	CHECK_EQ(world_certain(&step), 0);
	CHECK(world_has_why(&step, PAIRING_WHY_UNMEASURED));
}

static void limits_are_said(void)
{
	static const struct {
		size_t n, rounds;
	} rounds[] = { { 0, 0 }, { 1, 0 }, { 2, 3 },  { 3, 4 },
		       { 4, 4 }, { 5, 5 }, { 64, 8 }, { 65, 9 } };
	CLEANUP(world_freep) struct world *w = world_new(4, 1, 8, 22);
	struct pairing_step step;
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rounds); i++)
		CHECK_EQ(pairing_rounds_max(rounds[i].n), rounds[i].rounds);
	w->problem.n_nodes = PAIRING_NODES_MAX + 1;
	CHECK_EQ(pairing_step(&w->problem, &step, &err), -EINVAL);
	CHECK_STR(err.msg, "257 nodes in one test, at most 256: test group by group");
	w->problem.n_nodes = 4;
	w->problem.n_rails = PAIRING_RAILS_MAX + 1;
	CHECK_EQ(pairing_step(&w->problem, &step, &err), -EINVAL);
	CHECK_STR(err.msg, "9 rails, there are 1 to 8");
	w->problem.n_rails = 1;
	w->nodes[2].name = NULL;
	CHECK_EQ(pairing_step(&w->problem, &step, &err), -EINVAL);
	CHECK_STR(err.msg, "node number 2 has no name");
}

static const struct test tests[] = {
	TEST(good_nodes_are_left_alone_after_two_rounds),
	TEST(a_slow_node_is_named_after_its_second_partner),
	TEST(after_one_round_it_is_one_of_two),
	TEST(a_node_that_never_arrives_is_named),
	TEST(who_dies_between_rounds_is_not_blamed_for_its_rate),
	TEST(a_good_node_that_dies_disturbs_nobody),
	TEST(when_all_are_slow_nobody_is_blamed),
	TEST(a_bad_switch_is_not_its_nodes),
	TEST(two_bad_nodes_below_one_switch_are_not_the_switch),
	TEST(a_switch_of_two_is_undecided),
	TEST(two_nodes_tell_nothing),
	TEST(of_three_one_can_be_told_and_two_cannot),
	TEST(nobody_and_one_are_done_at_once),
	TEST(a_slow_rail_is_a_link_of_its_node),
	TEST(on_rails_one_switch_of_a_unit_is_told),
	TEST(who_shares_one_rail_runs_on_that_rail),
	TEST(unequal_groups_play_at_home_first),
	TEST(a_narrow_way_between_switches_is_no_fault),
	TEST(a_suspect_meets_somebody_good_in_the_first_round),
	TEST(in_a_tournament_every_two_meet_once),
	TEST(every_two_meet_once_whatever_lies_between_them),
	TEST(bisection_takes_fewer_runs),
	TEST(the_same_problem_gives_the_same_step),
	TEST(a_group_that_did_not_run_says_nothing),
	TEST(limits_are_said),
};

TEST_SUITE(tests);
