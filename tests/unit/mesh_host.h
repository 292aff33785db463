/* SPDX-License-Identifier: Apache-2.0 */
/* Topologies of hosts to schedule on: the standard one of 8 RNICs and 8 GPUs, and random ones. */
#pragma once

#include "lib/topology/topology.h"
#include "probes/rdma/mesh_topology.h"
#include "tests/unit/random.h"

enum { HOST_NAME = 40, HOST_PORTS_MAX = 32, HOST_ENDS_MAX = 48 };

struct mesh_host {
	struct topology topology;
	char rnics[HOST_PORTS_MAX][HOST_NAME]; /* node ids */
	double rates[HOST_PORTS_MAX];	       /* of the ports */
	size_t n_rnics;
	char ends[HOST_ENDS_MAX][HOST_NAME]; /* node ids: memories, then GPUs */
	size_t n_ends;
};

/*
 * 8 RNICs of 400 Gb/s, 8 GPUs, 4 switches and 2 sockets, all PCIe links x16 of
 * generation 5: rnic:mlx5_<i> and gpu:<i> below switch:<i / 2> below root:<i / 2>.
 */
void mesh_host_standard(struct mesh_host *ret);

/*
 * 1 to 4 sockets with up to 3 root ports each; no, one, or cascaded switches;
 * links of several speeds, some unknown; ports of several rates. Sometimes a
 * device or memory that is missing from the topology, or an RNIC with two ports.
 */
void mesh_host_random(struct random *r, struct mesh_host *ret);
void mesh_host_release(struct mesh_host *h);

/* All pairs of port and memory; `ret` has room for HOST_PORTS_MAX x HOST_ENDS_MAX. */
size_t mesh_host_cells(const struct mesh_host *h, struct mesh_ends *ret);
