/* SPDX-License-Identifier: Apache-2.0 */
/* Guards a port during a measurement: other users, and whether port or device went away. */
#pragma once

#include "probes/rdma/rdma.h"
#include "probes/rdma/traffic.h"
#include "probes/rdma/words.h"

/* -EBUSY with the reason if other processes have connected queue pairs; 0 if unknown. */
int port_check_users(const struct rdma_port *port, struct err *err);
bool port_has_others(const struct rdma_port *port);

/* -EBUSY with the reason if there was traffic since `first`, while we sent nothing. */
int port_check_traffic(const struct rdma_port *port, const struct traffic *first, struct err *err);

/*
 * Describes foreign traffic between two moments if it is too much for the measurement to count:
 * "mlx5_0 port 1: others sent about ...", otherwise NULL. `out` and `in` are what we asked of the
 * port (their `others` is set here). The caller frees the result.
 */
char *port_foreign_words(const struct rdma_port *port, const struct traffic *before,
			 const struct traffic *after, struct traffic_own *out,
			 struct traffic_own *in);

/*
 * Is the network device of the port administratively down, so that it is no fault? (IFF_UP,
 * include/ uapi/linux/if.h.) False without a network device, and on InfiniBand, where the network
 * device (IPoIB) may be down while the port works.
 */
bool port_is_taken_down(const struct rdma_port *port);

/*
 * Set `gone`, `down` and `taken_down` of the scene from the current state of `port` of the open
 * `device`. Requests may fail shortly before the port or device is reported down, so after a
 * failure (`scene->failed`) this waits for it for up to half a second.
 */
void port_look(struct rdma_engine *engine, struct rdma_device *device, const struct rdma_port *port,
	       struct rdma_scene *scene);
