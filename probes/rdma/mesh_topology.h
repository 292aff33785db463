/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mesh of a host from its topology: which links each cell crosses, and what
 * they can carry when they are well, so from the speed and width that both
 * ends of a link are capable of, not from those that it has now.
 */
#pragma once

#include "lib/topology/topology.h"
#include "probes/rdma/mesh.h"

/* A cell to add: a port of an RNIC and a memory, with the caller's numbers. */
struct mesh_ends {
	unsigned port, end;
	const char *rnic;   /* node id: "rnic:mlx5_0" */
	const char *to;	    /* "numa:0", "gpu:0000:1b:00.0" */
	double bytes_per_s; /* of the port; 0 unknown */
};

/*
 * Add `n` cells (left out past MESH_CELLS_MAX) and finish. Without a topology, on
 * a virtual host and between ends that it does not join, paths are hidden.
 */
void mesh_from_topology(const struct topology *t, const struct mesh_ends *ends, size_t n,
			struct mesh *ret);

/* Bytes per second that a link should carry one way; 0 unknown. */
double mesh_capacity(const struct topology *t, const struct topo_link *link);
