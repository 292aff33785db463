/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/mesh_bench.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static void bench_make(struct mesh_bench *b)
{
	const struct topology *t = &b->host.topology;
	size_t i;

	b->n = mesh_host_cells(&b->host, b->ends);
	for (i = 0; i < b->n; i++) {
		b->paths[i] = NULL;
		if (!t->is_virtual)
			(void)topology_path(t, b->ends[i].rnic, b->ends[i].to, &b->paths[i]);
	}
	mesh_from_topology(t, b->ends, b->n, &b->mesh);
	CHECK_EQ(b->mesh.n_cells, MIN(b->n, (size_t)MESH_CELLS_MAX));
}

struct mesh_bench *mesh_bench_standard(bool hidden)
{
	struct mesh_bench *b = xcalloc(1, sizeof(*b));

	mesh_host_standard(&b->host);
	b->host.topology.is_virtual = hidden;
	bench_make(b);
	return b;
}

struct mesh_bench *mesh_bench_random(uint64_t seed, bool hidden)
{
	struct random r = random_seeded(seed);
	struct mesh_bench *b = xcalloc(1, sizeof(*b));

	mesh_host_random(&r, &b->host);
	b->host.topology.is_virtual = hidden;
	bench_make(b);
	return b;
}

void mesh_bench_free(struct mesh_bench *b)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		strv_free(b->paths[i]);
	mesh_release(&b->mesh);
	mesh_host_release(&b->host);
	free(b);
}

bool mesh_bench_crosses(const struct mesh_bench *b, size_t cell, const char *link)
{
	size_t i;

	for (i = 0; b->paths[cell] && b->paths[cell][i]; i++) {
		if (streq(b->paths[cell][i], link))
			return true;
	}
	return false;
}
