/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the faulty part is named in simulated tests of 4 to 64 nodes with 5 % noise, how often
 * a good one, and in how many rounds.
 */
#include <stdio.h>

#include "tests/unit/pairing_world.h"
#include "tests/unit/test.h"

enum { RUNS = 12, RUNS_FULL = 1000, RAILS = 4, PER_LEAF = 8, LEAF_LEAST = 4 };

static const size_t sizes[] = { 4, 5, 6, 7, 8, 11, 16, 23, 32, 45, 64 };

enum fault { NONE, ONE_NODE, TWO_NODES, THREE_NODES, A_LINK, A_SWITCH, FAULTS };

static const char *const fault_names[] = { "nothing", "1 node", "2 nodes",
					   "3 nodes", "a link", "a switch" };

/* What a bad part still carries: from half of the line on, and up to 70 %. */
static const struct span {
	double least, most;
} spans[] = { { 0.5, 0.5 }, { 0.4, 0.7 } };

struct tally {
	size_t runs, exact, innocent, late, rounds;
};

/* Leaves of eight; what is left over, fewer than four, is below the one before. */
static struct world *make(enum fault fault, size_t n, uint64_t seed)
{
	size_t per_leaf = fault == A_SWITCH && n < 2 * PER_LEAF ? LEAF_LEAST : PER_LEAF, i;
	struct world *w = world_new(n, fault == A_LINK ? RAILS : 1, per_leaf, seed);
	size_t last = n / per_leaf;

	for (i = last * per_leaf; i < n && last > 0 && n % per_leaf < LEAF_LEAST; i++)
		world_place(w, i, last - 1);
	w->n_leaves = last > 0 && n % per_leaf < LEAF_LEAST ? last : w->n_leaves;
	return w;
}

static bool is_guilty(const struct world *w, const struct pairing_blame *b)
{
	size_t i, r;

	switch (b->kind) {
	case PAIRING_BLAME_NODE:
		return w->node[b->node] < 1;
	case PAIRING_BLAME_LINK:
	case PAIRING_BLAME_UPLINK:
		return w->nic[b->node][b->rail] < 1;
	case PAIRING_BLAME_LEAF:
		for (i = 0; i < w->n_leaves; i++) {
			for (r = 0; r < w->n_rails; r++) {
				if (streq(b->leaf, w->leaf_name[i][r]))
					return w->leaf[i][r] < 1;
			}
		}
		return false;
	case PAIRING_UNDECIDED:
		break;
	}
	return true;
}

/* Break something; returns how many parts. */
static size_t harm(struct world *w, enum fault fault, const struct span *span, struct random *r)
{
	size_t bad = fault <= THREE_NODES ? (size_t)fault : 1, i;

	for (i = 0; i < bad;) {
		double rate = span->least + (span->most - span->least) * random_unit(r);
		size_t node = random_below(r, w->n);

		if (fault == A_LINK)
			w->nic[node][random_below(r, w->n_rails)] = rate;
		else if (fault == A_SWITCH)
			w->leaf[random_below(r, w->n_leaves)][0] = rate;
		else if (w->node[node] < 1)
			continue;
		else
			w->node[node] = rate;
		i++;
	}
	return bad;
}

static void run(enum fault fault, size_t n, const struct span *span, uint64_t seed, struct tally *t)
{
	struct random chance = random_seeded(seed * 7919 + n);
	CLEANUP(world_freep) struct world *w = make(fault, n, seed * 65537 + n * 16 + fault);
	size_t bad = harm(w, fault, span, &chance), right = 0, wrong = 0, rounds, i;
	struct pairing_step step;

	rounds = world_play(w, &step);
	for (i = 0; i < step.n_blames; i++) {
		bool guilty = is_guilty(w, &step.blames[i]);

		wrong += !guilty;
		right += guilty && step.blames[i].kind != PAIRING_UNDECIDED;
	}
	t->runs++;
	t->exact += right == bad && wrong == 0;
	t->innocent += wrong > 0;
	t->late += rounds > pairing_rounds_max(n);
	t->rounds += rounds;
}

/* Fewer than half are bad, and a switch has another one beside it. */
static bool can_be(enum fault fault, size_t n)
{
	return fault <= THREE_NODES ? 2 * (size_t)fault < n
				    : fault != A_SWITCH || n >= 2 * LEAF_LEAST;
}

static struct tally play_all(enum fault fault, const struct span *span)
{
	struct tally t = { 0 };
	uint64_t seed;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (seed = 0; can_be(fault, sizes[i]) && seed < test_times(RUNS_FULL, RUNS); seed++)
			run(fault, sizes[i], span, seed, &t);
	}
	return t;
}

static void check_span(const struct span *span)
{
	struct tally all = { 0 };
	int fault;

	for (fault = NONE; fault < FAULTS; fault++) {
		struct tally t = play_all((enum fault)fault, span);

		printf("  %-8s at %.0f to %.0f %%: exact %zu of %zu, an innocent in %zu, %.2f "
		       "rounds\n",
		       fault_names[fault], span->least * 100, span->most * 100, t.exact, t.runs,
		       t.innocent, (double)t.rounds / (double)t.runs);
		/* In a short run one of a hundred is less than one. */
		CHECK(!test_full() || t.exact * 100 >= t.runs * 99);
		CHECK_EQ(t.late, 0);
		all.exact += t.exact;
		all.innocent += t.innocent;
		all.runs += t.runs;
	}
	CHECK(all.exact * 100 >= all.runs * 99);
	CHECK(all.innocent * 1000 <= all.runs);
}

static void half_a_rate_is_found(void)
{
	check_span(&spans[0]);
}

static void seventy_percent_of_a_rate_is_found(void)
{
	check_span(&spans[1]);
}

static const struct test tests[] = {
	TEST(half_a_rate_is_found),
	TEST(seventy_percent_of_a_rate_is_found),
};

TEST_SUITE(tests);
