/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the mesh of a host from its topology: which links each cell crosses, and what they carry
 * when healthy. That is computed from the speed and width that both ends of a link are capable of,
 * not from the current ones.
 */
#pragma once

#include "lib/topology/topology.h"
#include "probes/rdma/mesh.h"

/* A cell to add: a port of an RNIC and a memory, with the caller's numbers. */
struct mesh_ends {
	unsigned port, end;
	const char *rnic;   /* node id: "rnic:mlx5_0" */
	const char *to;	    /* "numa:0", "gpu:0000:1b:00.0" */
	double bytes_per_s; /* of the port; 0: unknown */
};

/*
 * Add `n` cells (those past MESH_CELLS_MAX are left out) and finish the mesh. Paths are hidden
 * without a topology, on a virtual host, and between ends that the topology does not connect.
 */
void mesh_from_topology(const struct topology *t, const struct mesh_ends *ends, size_t n,
			struct mesh *ret);

/* Bytes per second that a link should carry one way; 0: unknown. */
double mesh_capacity(const struct topology *t, const struct topo_link *link);
