/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link of the topology in the words of those who mend it. Its id is all that
 * is needed: "<lower>^<upper>" of topology.h; an id of another kind (a fabric's)
 * is told as it is. Pure.
 */
#pragma once

struct topo_link;

/*
 * "PCIe switch 0000:3f:00.0 uplink", "NIC mlx5_0's PCIe link", "GPU 0000:1b:00.0's PCIe
 * link", "NVLinks of GPU 0000:1b:00.0" (to all others, through switches), "path between GPUs
 * 0000:1b:00.0 and 0000:43:00.0", "interconnect of NUMA nodes 0 and 1", "memory of NUMA node 0".
 * New memory.
 */
char *link_name(const char *id);

/*
 * What usually makes such a link carry only `ratio` of what it should, and what to look
 * at: "about half: half of its lanes, or one PCIe generation down". "" when the number
 * says nothing. Static.
 */
const char *link_hint(const char *id, double ratio);

/*
 * How it is trained: "x8 at 32 GT/s, of x16 at 32 GT/s", or NULL when `link` is NULL or
 * says nothing. New memory.
 */
char *link_training(const struct topo_link *link);
