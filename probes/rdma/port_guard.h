/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard over a port that is measured: who else uses it, and whether it, or
 * its device, was taken away meanwhile.
 */
#pragma once

#include "probes/rdma/rdma.h"
#include "probes/rdma/traffic.h"
#include "probes/rdma/words.h"

/* -EBUSY with the reason: connected queue pairs of others. A kernel that does not tell: none. */
int port_check_users(const struct rdma_port *port, struct err *err);
bool port_has_others(const struct rdma_port *port);

/* -EBUSY with the reason: traffic since `first`, while nothing of ours was under way. */
int port_check_traffic(const struct rdma_port *port, const struct traffic *first, struct err *err);

/*
 * What others sent through a port between two moments, when that is too much for what was measured
 * meanwhile to count: "mlx5_0 port 1: others sent about ...". `out` and `in` are what was asked of
 * it (their `others` is set here). New memory, or NULL.
 */
char *port_foreign_words(const struct rdma_port *port, const struct traffic *before,
			 const struct traffic *after, struct traffic_own *out,
			 struct traffic_own *in);

/*
 * Is the network device of a port switched off? By an operator then, not by a fault: include/
 * uapi/linux/if.h, IFF_UP. False without a network device, and of InfiniBand, whose network device
 * (IPoIB) may be off while the port works.
 */
bool port_is_taken_down(const struct rdma_port *port);

/*
 * How `port` of the open `device` is now, into `gone`, `down` and `taken_down` of the scene.
 * Requests may fail a moment before the port or the device that is going away is said to be:
 * after a failure (`scene->failed`) that is waited for, half a second at most.
 */
void port_look(struct rdma_engine *engine, struct rdma_device *device, const struct rdma_port *port,
	       struct rdma_scene *scene);
