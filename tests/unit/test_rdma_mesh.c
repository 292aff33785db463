/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: which links a quick set can distinguish, and that rounds do not overlap. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/rdma/mesh.h"
#include "probes/rdma/mesh_groups.h"
#include "probes/rdma/mesh_quick.h"
#include "tests/unit/mesh_bench.h"
#include "tests/unit/test.h"

enum { HOSTS = 40, HOSTS_FULL = 400 };

static size_t hosts(void)
{
	return test_full() ? HOSTS_FULL : HOSTS;
}

static bool overlap(const struct mesh_bench *b, unsigned x, unsigned y)
{
	size_t i;

	if (!b->paths[x] || !b->paths[y])
		return true;
	for (i = 0; b->paths[x][i]; i++) {
		if (mesh_bench_crosses(b, y, b->paths[x][i]))
			return true;
	}
	return false;
}

/* --- rounds -------------------------------------------------------------------- */

static void pack(const struct mesh_bench *b, const double *weight, struct mesh_sets *ret)
{
	unsigned cells[BENCH_CELLS_MAX], i;

	for (i = 0; i < b->mesh.n_cells; i++)
		cells[i] = i;
	mesh_rounds(&b->mesh, cells, b->mesh.n_cells, weight, ret);
}

/* Each cell once; returns how many pairs of one round meet on a link. */
static size_t check_rounds(const struct mesh_bench *b, const struct mesh_sets *rounds)
{
	size_t seen[BENCH_CELLS_MAX] = { 0 }, met = 0, i, j, k;

	for (i = 0; i < rounds->n; i++) {
		const struct mesh_set *round = &rounds->v[i];

		CHECK(round->n > 0);
		for (j = 0; j < round->n; j++) {
			seen[round->cells[j]]++;
			for (k = 0; k < j; k++)
				met += overlap(b, round->cells[j], round->cells[k]);
		}
	}
	for (i = 0; i < b->mesh.n_cells; i++)
		CHECK_EQ(seen[i], 1);
	return met;
}

/* No schedule has fewer rounds than the busiest link has cells. */
static size_t busiest(const struct mesh_bench *b)
{
	size_t most = 0, i, j;

	for (i = 0; i < b->host.topology.n_links; i++) {
		size_t load = 0;

		for (j = 0; j < b->mesh.n_cells; j++)
			load += mesh_bench_crosses(b, j, b->host.topology.links[i].id);
		most = MAX(most, load);
	}
	return most;
}

static void the_eight_by_eight_host_takes_44_rounds(void)
{
	struct mesh_bench *b = mesh_bench_standard(false);
	struct mesh_sets rounds;

	pack(b, NULL, &rounds);
	printf("  %zu cells in %zu rounds, at least %zu\n", b->mesh.n_cells, rounds.n, busiest(b));
	CHECK_EQ(b->mesh.n_cells, 80);
	CHECK(rounds.n <= 44);
	CHECK(rounds.n >= busiest(b));
	CHECK_EQ(check_rounds(b, &rounds), 0);
	mesh_sets_release(&rounds);
	mesh_bench_free(b);
}

static void no_round_overlaps_two_cells_that_share_a_link(void)
{
	size_t n = hosts(), met = 0, rounds_all = 0, least_all = 0;
	uint64_t seed;

	for (seed = 0; seed < n; seed++) {
		struct mesh_bench *b = mesh_bench_random(seed, false);
		struct mesh_sets rounds;

		pack(b, NULL, &rounds);
		met += check_rounds(b, &rounds);
		rounds_all += rounds.n;
		least_all += busiest(b);
		mesh_sets_release(&rounds);
		mesh_bench_free(b);
	}
	printf("  %zu hosts: %zu rounds, at least %zu; %zu pairs met\n", n, rounds_all, least_all,
	       met);
	CHECK_EQ(met, 0);
}

static struct topo_node *node_of(struct mesh_bench *b, const char *id)
{
	struct topology *t = &b->host.topology;
	size_t i = 0;

	while (i < t->n_nodes && !streq(t->nodes[i].id, id))
		i++;
	CHECK(i < t->n_nodes);
	return &t->nodes[MIN(i, t->n_nodes - 1)];
}

/* Two functions of one card have one slot, which the topology does not tell. */
static void ports_of_one_card_are_not_measured_at_once(void)
{
	struct mesh_bench *b = mesh_bench_standard(false);
	struct mesh_sets rounds;
	size_t met = 0, i, j, k;

	node_of(b, "rnic:mlx5_0")->pci = xstrdup("0000:1b:00.0");
	node_of(b, "rnic:mlx5_1")->pci = xstrdup("0000:1b:00.1");
	node_of(b, "rnic:mlx5_2")->pci = xstrdup("0000:2b:00.0");
	node_of(b, "rnic:mlx5_3")->pci = xstrdup("0000:2b:01.0");
	mesh_release(&b->mesh);
	mesh_from_topology(&b->host.topology, b->ends, b->n, &b->mesh);
	pack(b, NULL, &rounds);
	CHECK_EQ(check_rounds(b, &rounds), 0);
	for (i = 0; i < rounds.n; i++) {
		const struct mesh_set *round = &rounds.v[i];

		for (j = 0; j < round->n; j++) {
			for (k = 0; k < round->n; k++)
				met += b->ends[round->cells[j]].port == 0 &&
				       b->ends[round->cells[k]].port == 1;
		}
	}
	CHECK_EQ(met, 0);
	mesh_sets_release(&rounds);
	mesh_bench_free(b);
}

static void with_a_hidden_bridge_chain_it_is_one_cell_at_a_time(void)
{
	struct mesh_bench *b = mesh_bench_standard(true);
	struct mesh_sets rounds, groups;
	size_t i;

	pack(b, NULL, &rounds);
	mesh_groups(&b->mesh, &groups);
	CHECK_EQ(rounds.n, 80);
	for (i = 0; i < rounds.n; i++)
		CHECK_EQ(rounds.v[i].n, 1);
	CHECK_EQ(groups.n, 0);
	mesh_sets_release(&rounds);
	mesh_sets_release(&groups);
	mesh_bench_free(b);
}

/* Nothing is known of what any two cells share, so no two may be measured at once. */
static void on_any_host_that_hides_its_bridges_too(void)
{
	size_t n = hosts(), rounds_all = 0, cells = 0;
	uint64_t seed;

	for (seed = 0; seed < n; seed++) {
		struct mesh_bench *b = mesh_bench_random(seed, true);
		struct mesh_sets rounds, groups;

		pack(b, NULL, &rounds);
		mesh_groups(&b->mesh, &groups);
		CHECK_EQ(check_rounds(b, &rounds), 0);
		CHECK_EQ(groups.n, 0);
		rounds_all += rounds.n;
		cells += b->mesh.n_cells;
		mesh_sets_release(&rounds);
		mesh_sets_release(&groups);
		mesh_bench_free(b);
	}
	printf("  %zu hidden hosts: %zu rounds of %zu cells\n", n, rounds_all, cells);
	CHECK_EQ(rounds_all, cells);
}

static void heavier_rounds_come_first(void)
{
	struct mesh_bench *b = mesh_bench_standard(false);
	double weight[80] = { 0 };
	struct mesh_sets rounds;
	size_t i, j, last = 0;

	weight[17] = 2;
	weight[41] = weight[79] = 1;
	pack(b, weight, &rounds);
	for (i = 0; i < rounds.n; i++) {
		for (j = 0; j < rounds.v[i].n; j++)
			last = weight[rounds.v[i].cells[j]] > 0 ? i : last;
	}
	CHECK(last < 3);
	CHECK_EQ(check_rounds(b, &rounds), 0);
	mesh_sets_release(&rounds);
	mesh_bench_free(b);
}

/* --- the quick set --------------------------------------------------------------- */

/* What the link limits when `left` is left of it: cell i of `set`, or of all. */
static void limited(const struct mesh_bench *b, const char *link, double left,
		    const struct mesh_set *set, bool *ret)
{
	size_t n = set ? set->n : b->mesh.n_cells, i;

	for (i = 0; i < n; i++) {
		unsigned cell = set ? set->cells[i] : (unsigned)i;

		ret[i] = mesh_bench_crosses(b, cell, link) &&
			 left < 0.95 * b->mesh.cells[cell].expected;
	}
}

static bool any(const bool *v, size_t n)
{
	size_t i;

	for (i = 0; i < n && !v[i]; i++)
		;
	return i < n;
}

/* Links but memories, with what they should carry. */
struct known {
	const char *id;
	double capacity;
};

/* As mesh_finish() has it of one that nobody knows. */
static double widest_beside(const struct mesh_bench *b, const char *id)
{
	const struct topology *t = &b->host.topology;
	double widest = 0;
	size_t i, j;

	for (i = 0; i < b->mesh.n_cells; i++) {
		if (!mesh_bench_crosses(b, i, id))
			continue;
		widest = MAX(widest, b->mesh.cells[i].expected);
		for (j = 0; b->paths[i][j]; j++) {
			const struct topo_link *link = topology_find_link(t, b->paths[i][j]);

			if (!streq(link->a, link->b))
				widest = MAX(widest, mesh_capacity(t, link));
		}
	}
	return widest;
}

static size_t known_links(const struct mesh_bench *b, struct known *ret)
{
	const struct topology *t = &b->host.topology;
	size_t n = 0, i;

	for (i = 0; i < t->n_links; i++) {
		const struct topo_link *link = &t->links[i];
		double capacity = mesh_capacity(t, link);

		if (!streq(link->a, link->b))
			ret[n++] = (struct known){ link->id, capacity > 0
								     ? capacity
								     : widest_beside(b, link->id) };
	}
	return n;
}

struct tally {
	size_t links, seen, pairs, apart, missed, mixed;
};

/* Does the set see and tell apart what the whole mesh does, at one residual? */
static void tally_faults(const struct mesh_bench *b, const struct mesh_set *set, double residual,
			 struct tally *t)
{
	static bool all[64 * 4][BENCH_CELLS_MAX], few[64 * 4][BENCH_CELLS_MAX];
	struct known links[64 * 4];
	size_t n = known_links(b, links), i, j;

	for (i = 0; i < n; i++) {
		limited(b, links[i].id, residual * links[i].capacity, NULL, all[i]);
		limited(b, links[i].id, residual * links[i].capacity, set, few[i]);
	}
	for (i = 0; i < n; i++) {
		t->links++;
		t->seen += any(few[i], set->n);
		t->missed += any(all[i], b->mesh.n_cells) && !any(few[i], set->n);
		for (j = 0; j < i; j++) {
			bool differ = memcmp(all[i], all[j], b->mesh.n_cells) != 0;
			bool told = memcmp(few[i], few[j], set->n) != 0;

			t->pairs++;
			t->apart += told;
			t->mixed += differ && !told;
		}
	}
}

static const double residuals[] = { 0.80, 0.75, 0.50, 0.25, 0.05 };

static void the_quick_set_of_the_eight_by_eight_host_is_small(void)
{
	struct mesh_bench *b = mesh_bench_standard(false);
	struct tally t = { 0 };
	struct mesh_set set;
	size_t i;

	mesh_quick(&b->mesh, &set);
	for (i = 0; i < ARRAY_SIZE(residuals); i++)
		tally_faults(b, &set, residuals[i], &t);
	printf("  %zu cells see %zu of %zu faults, tell %zu of %zu pairs apart\n", set.n, t.seen,
	       t.links, t.apart, t.pairs);
	CHECK(set.n <= 14);
	CHECK_EQ(t.seen, t.links);
	CHECK_EQ(t.missed, 0);
	/* A switch's uplink and its root port are in series: 4 pairs at each residual. */
	CHECK_EQ(t.pairs - t.apart, 4 * ARRAY_SIZE(residuals));
	mesh_set_release(&set);
	mesh_bench_free(b);
}

/* Cells of the mesh with a port or a memory that the set has not. */
static size_t absent(const struct mesh *m, const struct mesh_set *set)
{
	size_t n = 0, i, j;

	for (i = 0; i < m->n_cells; i++) {
		bool port = false, end = false;

		for (j = 0; j < set->n; j++) {
			port = port || m->cells[set->cells[j]].port == m->cells[i].port;
			end = end || m->cells[set->cells[j]].end == m->cells[i].end;
		}
		n += !port || !end;
	}
	return n;
}

static void the_quick_set_tells_what_the_whole_mesh_would(void)
{
	size_t n = hosts(), cells = 0, of = 0, i;
	struct tally t = { 0 };
	uint64_t seed;

	for (seed = 0; seed < n; seed++) {
		struct mesh_bench *b = mesh_bench_random(seed, false);
		struct mesh_set set;

		mesh_quick(&b->mesh, &set);
		CHECK_EQ(absent(&b->mesh, &set), 0);
		cells += set.n;
		of += b->mesh.n_cells;
		for (i = 0; i < ARRAY_SIZE(residuals); i++)
			tally_faults(b, &set, residuals[i], &t);
		mesh_set_release(&set);
		mesh_bench_free(b);
	}
	printf("  %zu hosts: %zu of %zu cells; of %zu faults %zu missed, of %zu pairs %zu mixed "
	       "up\n",
	       n, cells, of, t.links, t.missed, t.pairs, t.mixed);
	CHECK_EQ(t.missed, 0);
	CHECK_EQ(t.mixed, 0);
	CHECK(cells < of);
}

/* Where nothing is known of paths: each port and each memory, told apart. */
static void the_quick_set_of_hidden_paths_covers_rows_and_columns(void)
{
	struct mesh_bench *b = mesh_bench_standard(true);
	bool rows[8] = { false }, columns[10] = { false };
	struct mesh_set set;
	size_t i;

	mesh_quick(&b->mesh, &set);
	for (i = 0; i < set.n; i++) {
		rows[b->mesh.cells[set.cells[i]].port] = true;
		columns[b->mesh.cells[set.cells[i]].end] = true;
	}
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(rows[i]);
	for (i = 0; i < ARRAY_SIZE(columns); i++)
		CHECK(columns[i]);
	CHECK(set.n <= 14);
	mesh_set_release(&set);
	mesh_bench_free(b);
}

static const struct test tests[] = {
	TEST(the_eight_by_eight_host_takes_44_rounds),
	TEST(no_round_overlaps_two_cells_that_share_a_link),
	TEST(ports_of_one_card_are_not_measured_at_once),
	TEST(with_a_hidden_bridge_chain_it_is_one_cell_at_a_time),
	TEST(on_any_host_that_hides_its_bridges_too),
	TEST(heavier_rounds_come_first),
	TEST(the_quick_set_of_the_eight_by_eight_host_is_small),
	TEST(the_quick_set_tells_what_the_whole_mesh_would),
	TEST(the_quick_set_of_hidden_paths_covers_rows_and_columns),
};

TEST_SUITE(tests);
