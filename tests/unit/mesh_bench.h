/* SPDX-License-Identifier: Apache-2.0 */
/* A host, its mesh, and the paths of its cells as the topology tells them. */
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

/* New; free with mesh_bench_free(). The host may be `hidden`: a VM without bridges. */
struct mesh_bench *mesh_bench_standard(bool hidden);
struct mesh_bench *mesh_bench_random(uint64_t seed, bool hidden);
void mesh_bench_free(struct mesh_bench *b);

/* By the path of the topology, not of the mesh. */
bool mesh_bench_crosses(const struct mesh_bench *b, size_t cell, const char *link);
