/* SPDX-License-Identifier: Apache-2.0 */
/* RoCE ports that are a bond of network devices (mlx5_bond_0). */
#pragma once

struct rdma_port;

/*
 * One queue pair goes over one member of a bond. So `members` becomes how many there are, and
 * `bytes_per_s` what the slowest of them that is up carries, where the driver gives more (some say
 * the rate of one, some the sum). Nothing changes for a port that is none, or whose network device
 * is in another namespace. Bonds: Documentation/networking/bonding.rst; the network device of a
 * port: Documentation/ABI/stable/sysfs-class-infiniband (gid_attrs/ndevs).
 */
void bond_find(struct rdma_port *port);
