/* SPDX-License-Identifier: Apache-2.0 */
/* RoCE ports over a bond of network devices (mlx5_bond_0). */
#pragma once

struct rdma_port;

/*
 * If the network device of `port` is a bond of two or more, set `members` to their number and lower
 * `bytes_per_s` to the speed of the slowest member that is up: a queue pair uses only one member,
 * but some drivers report the sum. Any other port is left unchanged, as is one whose network device
 * is in another namespace. Bonds: Documentation/networking/bonding.rst; the network device of a
 * port: Documentation/ABI/stable/sysfs-class-infiniband (gid_attrs/ndevs).
 */
void bond_find(struct rdma_port *port);
