/* SPDX-License-Identifier: Apache-2.0 */
/* Groups measured together, and the evaluation of a quick set with low cells. */
#include <stdio.h>
#include <stdlib.h>

#include "probes/rdma/mesh_groups.h"
#include "probes/rdma/mesh_low.h"
#include "probes/rdma/mesh_quick.h"
#include "tests/unit/mesh_bench.h"
#include "tests/unit/test.h"

enum { HOSTS = 40, HOSTS_FULL = 400 };

static size_t hosts(void)
{
	return test_full() ? HOSTS_FULL : HOSTS;
}

/* --- groups ---------------------------------------------------------------------- */

/* By how much the slowest hit member of the group falls when a link loses a fifth. */
static double worst_ratio(const struct mesh *m, const struct mesh_set *group, unsigned link)
{
	double before[MESH_GROUP_MAX], after[MESH_GROUP_MAX], worst = 1;
	double capacity = m->links[link].capacity;
	size_t i;

	mesh_shares(m, group, before);
	m->links[link].capacity = capacity * MESH_RESIDUAL;
	mesh_shares(m, group, after);
	m->links[link].capacity = capacity;
	for (i = 0; i < group->n; i++)
		worst = MIN(worst, after[i] / before[i]);
	return worst;
}

static void a_group_shows_what_no_single_flow_does(void)
{
	struct mesh_bench *b = mesh_bench_standard(false);
	struct mesh_sets groups;
	size_t i, j, memories = 0, shown = 0;

	mesh_groups(&b->mesh, &groups);
	for (i = 0; i < b->mesh.n_links; i++) {
		bool seen = false;

		for (j = 0; j < groups.n; j++)
			seen = seen || worst_ratio(&b->mesh, &groups.v[j], (unsigned)i) < MESH_LOW;
		memories += b->mesh.links[i].is_memory;
		shown += b->mesh.links[i].is_memory && seen;
	}
	printf("  %zu groups\n", groups.n);
	CHECK_EQ(memories, 2);
	CHECK_EQ(shown, memories);
	/* The memories, and each switch's uplink, with its root port in series. */
	CHECK_EQ(groups.n, 2 + 4);
	mesh_sets_release(&groups);
	mesh_bench_free(b);
}

/* Groups of `size` that the cell is in. */
static size_t groups_with(const struct mesh_sets *groups, size_t size, unsigned cell)
{
	size_t n = 0, i, j;

	for (i = 0; i < groups->n; i++) {
		for (j = 0; groups->v[i].n == size && j < size; j++)
			n += groups->v[i].cells[j] == cell;
	}
	return n;
}

/* All of a group cross one link, from ports of their own, and fill it. */
static void groups_of_any_host_fill_a_link(void)
{
	size_t n = hosts(), total = 0, i, j, k;
	uint64_t seed;

	for (seed = 0; seed < n; seed++) {
		struct mesh_bench *b = mesh_bench_random(seed, false);
		struct mesh_sets groups;

		mesh_groups(&b->mesh, &groups);
		for (i = 0; i < groups.n; i++) {
			const struct mesh_set *g = &groups.v[i];
			bool shows = false;

			CHECK(g->n >= 2);
			for (j = 0; j < g->n; j++) {
				for (k = 0; k < j; k++)
					CHECK(b->mesh.cells[g->cells[j]].port !=
					      b->mesh.cells[g->cells[k]].port);
				CHECK(!b->mesh.cells[g->cells[j]].hidden);
				CHECK_EQ(groups_with(&groups, g->n, g->cells[j]), 1);
			}
			for (j = 0; j < b->mesh.n_links; j++) {
				for (k = 0; k < g->n; k++) {
					if (!mesh_crosses(&b->mesh.cells[g->cells[k]], (unsigned)j))
						break;
				}
				shows = shows ||
					(k == g->n && worst_ratio(&b->mesh, g, (unsigned)j) < 0.97);
			}
			CHECK(shows);
		}
		total += groups.n;
		mesh_sets_release(&groups);
		mesh_bench_free(b);
	}
	CHECK(total > 0);
}

/* --- what is low ------------------------------------------------------------------ */

static void a_low_cell_draws_those_that_explain_it(void)
{
	struct mesh_bench *b = mesh_bench_standard(false);
	double values[80], weight[80];
	bool low[80];
	struct mesh_set set;
	size_t i, link = 0, n_low;

	while (!streq(b->paths[0][1], b->host.topology.links[link].id))
		link++;
	mesh_quick(&b->mesh, &set);
	for (i = 0; i < 80; i++)
		values[i] = NAN;
	for (i = 0; i < set.n; i++)
		values[set.cells[i]] = b->mesh.cells[set.cells[i]].expected;
	CHECK_EQ(mesh_low(&b->mesh, values, low), 0);
	/* The uplink of the first switch at half its width. */
	for (i = 0; i < set.n; i++) {
		if (mesh_bench_crosses(b, set.cells[i], b->paths[0][1]))
			values[set.cells[i]] = MIN(values[set.cells[i]], 27e9);
	}
	n_low = mesh_low(&b->mesh, values, low);
	CHECK(n_low > 0);
	mesh_weigh(&b->mesh, values, low, weight);
	for (i = 0; i < 80; i++) {
		if (mesh_bench_crosses(b, i, b->paths[0][1]))
			CHECK(weight[i] > 0);
	}
	/* A cell of the other socket that stays below its switch says nothing about it. */
	for (i = 0; i < 80; i++) {
		if (b->ends[i].port == 7 && streq(b->ends[i].to, "gpu:6"))
			CHECK_EQ(weight[i], 0);
	}
	mesh_set_release(&set);
	mesh_bench_free(b);
}

static const struct test tests[] = {
	TEST(a_group_shows_what_no_single_flow_does),
	TEST(groups_of_any_host_fill_a_link),
	TEST(a_low_cell_draws_those_that_explain_it),
};

TEST_SUITE(tests);
