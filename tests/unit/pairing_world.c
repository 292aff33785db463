/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/pairing_world.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

void world_place(struct world *w, size_t node, size_t leaf)
{
	size_t r;

	w->leaf_of[node] = leaf;
	for (r = 0; r < w->n_rails; r++)
		w->nodes[node].leaf[r] = w->leaf_name[leaf][r];
}

struct world *world_new(size_t n, size_t n_rails, size_t per_leaf, uint64_t seed)
{
	struct world *w = xcalloc(1, sizeof(*w));
	size_t i, r;

	w->n = n;
	w->n_rails = n_rails;
	w->n_leaves = (n + per_leaf - 1) / per_leaf;
	w->cross = 1;
	w->line = 50e9;
	w->noise = 0.05;
	w->chance = random_seeded(seed);
	for (i = 0; i < WORLD_LEAVES_MAX; i++) {
		for (r = 0; r < PAIRING_RAILS_MAX; r++) {
			w->leaf[i][r] = 1;
			(void)snprintf(w->leaf_name[i][r], WORLD_NAME_SIZE, "leaf-%zu.%zu", i, r);
		}
	}
	for (i = 0; i < n; i++) {
		(void)snprintf(w->name[i], WORLD_NAME_SIZE, "gpu-%zu", i);
		w->nodes[i].name = w->name[i];
		w->node[i] = 1;
		w->dies_at[i] = WORLD_NEVER;
		for (r = 0; r < PAIRING_RAILS_MAX; r++)
			w->nic[i][r] = 1;
		world_place(w, i, i / per_leaf);
	}
	w->problem = (struct pairing_problem){ .nodes = w->nodes,
					       .n_nodes = n,
					       .n_rails = n_rails,
					       .results = w->results,
					       .seed = seed };
	return w;
}

void world_free(struct world *w)
{
	size_t i;

	for (i = 0; i < WORLD_RESULTS_MAX; i++)
		free(w->more[i]);
	free(w);
}

/* Returns the rate of one rail between these nodes, without noise. */
static double rail_rate(const struct world *w, const size_t *members, size_t n, size_t rail)
{
	double least = 1;
	bool cross = false;
	size_t i;

	for (i = 0; i < n; i++) {
		size_t m = members[i];

		cross |= w->leaf_of[m] != w->leaf_of[members[0]];
		least = MIN(least, w->node[m]);
		least = MIN(least, w->nic[m][rail]);
		least = MIN(least, w->leaf[w->leaf_of[m]][rail]);
	}
	return w->line * (cross ? MIN(least, w->cross) : least);
}

static double noisy(struct world *w, double rate)
{
	double value = random_normal(&w->chance, rate, w->noise * rate);

	return MAX(value, rate / 10);
}

static bool is_away(const struct world *w, size_t node)
{
	return w->dead[node] || w->problem.rounds_made >= w->dies_at[node];
}

static void measure(struct world *w, struct pairing_result *r)
{
	double least = INFINITY;
	size_t rail;

	for (rail = 0; rail < w->n_rails; rail++) {
		double rate = rail_rate(w, r->members, r->n, rail);

		if (r->rail >= 0 && (size_t)r->rail != rail)
			continue;
		least = MIN(least, rate);
		if (r->rail < 0)
			r->rails[rail] = noisy(w, rate);
	}
	r->outcome = PAIRING_MEASURED;
	r->value = noisy(w, r->rail < 0 ? least * (double)w->n_rails : least);
}

static void run(struct world *w, const size_t *seats, const struct pairing_group *g)
{
	size_t at = w->problem.n_results, i, away = 0;
	struct pairing_result *r = &w->results[at];
	size_t *members = w->members[at];

	if (at == WORLD_RESULTS_MAX)
		return;
	if (g->n > 2)
		members = w->more[at] = xcalloc(g->n, sizeof(*members));
	/* Absent members come first, so they form a contiguous list. */
	for (i = 0; i < g->n; i++) {
		if (is_away(w, seats[i]))
			members[away++] = seats[i];
	}
	*r = (struct pairing_result){ .members = members,
				      .n = g->n,
				      .rail = g->rail,
				      .outcome = PAIRING_FAILED,
				      .missing = members,
				      .n_missing = away };
	for (i = 0; i < g->n; i++) {
		if (!is_away(w, seats[i]))
			members[away++] = seats[i];
	}
	if (r->n_missing == 0)
		measure(w, r);
	w->problem.n_results++;
	w->n_groups++;
}

void world_round(struct world *w, const struct pairing_round *round)
{
	size_t i;

	for (i = 0; i < round->n_groups; i++)
		run(w, round->seats + round->groups[i].first, &round->groups[i]);
	w->problem.rounds_made++;
	for (i = 0; i < w->n; i++) {
		if (w->problem.rounds_made >= w->dies_at[i])
			w->nodes[i].state = PAIRING_GONE;
	}
}

void world_step(struct world *w, struct pairing_step *ret)
{
	CHECK_EQ(pairing_step(&w->problem, ret, NULL), 0);
}

size_t world_play(struct world *w, struct pairing_step *ret)
{
	size_t rounds = 0;

	for (;;) {
		world_step(w, ret);
		if (ret->done)
			break;
		CHECK(world_round_ok(w, &ret->next));
		world_round(w, &ret->next);
		if (++rounds > pairing_rounds_max(w->n) && w->problem.rounds_max == 0)
			break;
	}
	return rounds;
}

static bool shares_rail(const struct world *w, const size_t *seats, const struct pairing_group *g)
{
	size_t i;

	for (i = 1; i < g->n && g->rail >= 0; i++) {
		if (w->nodes[seats[i]].leaf[g->rail] != w->nodes[seats[0]].leaf[g->rail])
			return false;
	}
	return true;
}

bool world_round_ok(const struct world *w, const struct pairing_round *round)
{
	bool sits[PAIRING_NODES_MAX] = { false };
	size_t i, m;

	for (i = 0; i < round->n_groups; i++) {
		const struct pairing_group *g = &round->groups[i];

		if (g->n < 2 || g->first + g->n > round->n_seats || g->rail >= (int)w->n_rails ||
		    !shares_rail(w, round->seats + g->first, g))
			return false;
		for (m = g->first; m < g->first + g->n; m++) {
			size_t node = round->seats[m];

			if (node >= w->n || sits[node] || w->nodes[node].state == PAIRING_GONE)
				return false;
			sits[node] = true;
		}
	}
	return true;
}

size_t world_count(const struct pairing_step *step, enum pairing_kind kind, size_t node)
{
	size_t n = 0, i;

	for (i = 0; i < step->n_blames; i++)
		n += step->blames[i].kind == kind &&
		     (node == SIZE_MAX || step->blames[i].node == node);
	return n;
}

size_t world_certain(const struct pairing_step *step)
{
	return step->n_blames - world_count(step, PAIRING_UNDECIDED, SIZE_MAX);
}

bool world_has_why(const struct pairing_step *step, enum pairing_why why)
{
	size_t i;

	for (i = 0; i < step->n_blames; i++) {
		if (step->blames[i].why == why)
			return true;
	}
	return false;
}
