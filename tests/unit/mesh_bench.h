/* SPDX-License-Identifier: Apache-2.0 */
/* A host, its mesh, and the paths of its cells according to the topology. */
#pragma once

#include "tests/unit/mesh_host.h"

enum { BENCH_CELLS_MAX = HOST_PORTS_MAX * HOST_ENDS_MAX };

struct mesh_bench {
	struct mesh_host host;
	struct mesh_ends ends[BENCH_CELLS_MAX];
	size_t n;
	char **paths[BENCH_CELLS_MAX]; /* NULL: hidden */
	struct mesh mesh;
};

/* The caller frees it with mesh_bench_free(). `hidden`: a VM that shows no bridges. */
struct mesh_bench *mesh_bench_standard(bool hidden);
struct mesh_bench *mesh_bench_random(uint64_t seed, bool hidden);
void mesh_bench_free(struct mesh_bench *b);

/* According to the path in the topology, not in the mesh. */
bool mesh_bench_crosses(const struct mesh_bench *b, size_t cell, const char *link);
