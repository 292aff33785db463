/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of the topology, as the people who repair them call them. Works from the id alone:
 * "<lower>^<upper>" of topology.h. Ids of other kinds (of a fabric) are shown unchanged. Pure.
 */
#pragma once

struct topo_link;

/*
 * The name of a link: "PCIe switch 0000:3f:00.0 uplink", "NIC mlx5_0's PCIe link", "GPU
 * 0000:1b:00.0's PCIe link", "NVLinks of GPU 0000:1b:00.0" (to all others, through switches), "path
 * between GPUs 0000:1b:00.0 and 0000:43:00.0", "interconnect of NUMA nodes 0 and 1", "memory of
 * NUMA node 0". New memory.
 */
char *link_name(const char *id);

/*
 * The usual reasons why such a link reaches only `ratio` of what it should, and what to check:
 * "about half: half of its lanes, or one PCIe generation down". "" if the number suggests nothing.
 * Static.
 */
const char *link_hint(const char *id, double ratio);

/*
 * Negotiated speed and width: "x8 at 32 GT/s, of x16 at 32 GT/s". NULL if `link` is NULL or they
 * are unknown. New memory.
 */
char *link_training(const struct topo_link *link);
