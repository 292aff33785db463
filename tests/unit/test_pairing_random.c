/* SPDX-License-Identifier: Apache-2.0 */
/* For any results: rounds are disjoint and few, messages are complete, and nothing crashes. */
#include <math.h>

#include "tests/unit/pairing_world.h"
#include "tests/unit/test.h"

enum { RUNS = 12, RUNS_FULL = 3000, NODES = 24, JUNK_MAX = 8 };

static double any_rate(struct random *r)
{
	static const double odd[] = { 0, -1, 1e-300, 1e300, INFINITY, NAN };

	return random_below(r, 4) == 0 ? odd[random_below(r, ARRAY_SIZE(odd))]
				       : 1e9 * (1 + (double)random_below(r, 60));
}

/* Results of the round as it pleases, and some of nobody's round. */
static void answer(struct world *w, const struct pairing_round *round, struct random *r)
{
	size_t i, rail, first = w->problem.n_results;

	world_round(w, round);
	for (i = first; i < w->problem.n_results; i++) {
		struct pairing_result *result = &w->results[i];

		result->outcome = (enum pairing_outcome)random_below(r, 3);
		result->value = any_rate(r);
		for (rail = 0; rail < PAIRING_RAILS_MAX; rail++)
			result->rails[rail] = any_rate(r);
		result->n_missing = random_below(r, 2) ? 0 : 1;
	}
}

static void add_junk(struct world *w, struct random *r)
{
	static size_t members[JUNK_MAX][3];
	size_t i, m;

	for (i = 0; i < JUNK_MAX && w->problem.n_results < WORLD_RESULTS_MAX; i++) {
		for (m = 0; m < 3; m++)
			members[i][m] = random_below(r, 8) ? random_below(r, NODES + 2) : SIZE_MAX;
		w->results[w->problem.n_results++] = (struct pairing_result){
			.members = random_below(r, 8) ? members[i] : NULL,
			.n = random_below(r, 4),
			.rail = (int)random_below(r, 12) - 2,
			.outcome = (enum pairing_outcome)random_below(r, 3),
			.value = any_rate(r),
			.missing = random_below(r, 2) ? members[i] : NULL,
			.n_missing = random_below(r, 3),
		};
	}
}

static void check_words(const struct world *w, const struct pairing_step *step)
{
	size_t i;

	CHECK(step->n_blames <= PAIRING_BLAMES_MAX);
	for (i = 0; i < step->n_blames; i++) {
		const struct pairing_blame *b = &step->blames[i];

		CHECK(b->words[0] != '\0' && strlen(b->words) < PAIRING_WORDS_SIZE);
		CHECK((b->kind == PAIRING_UNDECIDED) == (b->why != PAIRING_WHY_NONE));
		CHECK(b->node == SIZE_MAX || b->node < w->n);
	}
}

static void play(uint64_t seed)
{
	struct random r = random_seeded(seed);
	size_t n = random_below(&r, NODES + 1), rounds = 0, i;
	CLEANUP(world_freep)
	struct world *w = world_new(n, 1 + random_below(&r, PAIRING_RAILS_MAX),
				    1 + random_below(&r, 12), seed);
	struct pairing_step step;

	w->problem.plan = (enum pairing_plan)random_below(&r, 3);
	w->problem.cross_part = random_below(&r, 2) ? 0 : random_unit(&r);
	for (i = 0; i < n; i++) {
		w->nodes[i].state = (enum pairing_state)random_below(&r, 4);
		if (random_below(&r, 6) == 0)
			w->nodes[i].leaf[random_below(&r, w->n_rails)] = NULL;
	}
	for (;;) {
		world_step(w, &step);
		check_words(w, &step);
		if (step.done)
			break;
		CHECK(step.next.n_groups > 0 && world_round_ok(w, &step.next));
		answer(w, &step.next, &r);
		if (random_below(&r, 3) == 0)
			add_junk(w, &r);
		if (++rounds > pairing_rounds_max(n))
			break;
	}
	CHECK(rounds <= pairing_rounds_max(n));
}

static void any_results_end_in_time(void)
{
	uint64_t seed;

	for (seed = 0; seed < test_times(RUNS_FULL, RUNS); seed++)
		play(seed);
}

/* All that fits, and more: the limits hold, and it ends. */
static void the_largest_problem_is_answered(void)
{
	CLEANUP(world_freep)
	struct world *w = world_new(PAIRING_NODES_MAX, PAIRING_RAILS_MAX, 32, 1);
	struct pairing_step step;

	w->node[17] = 0.5;
	w->nic[99][5] = 0.5;
	CHECK(world_play(w, &step) <= pairing_rounds_max(PAIRING_NODES_MAX));
	CHECK_EQ(world_count(&step, PAIRING_BLAME_NODE, 17), 1);
	CHECK_EQ(world_count(&step, PAIRING_BLAME_LINK, 99), 1);
	CHECK_EQ(world_certain(&step), 2);
}

static const struct test tests[] = {
	TEST(any_results_end_in_time),
	TEST(the_largest_problem_is_answered),
};

TEST_SUITE(tests);
