/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a port does not answer its own requests. On an active port that usually means a bad path. But
 * the RNIC may be configured not to loop back, its address may belong to a missing VLAN or network,
 * and a switch need not send a frame back to the port it came from. So one small write each finds
 * out what does answer:
 *
 *	the port, with other memory			a bad path to this memory
 *	the port, from another of its addresses	set-up: the address
 *	the port, in an earlier run			a bad port
 *	another port of its kind			a bad port: loopback works on this host
 *	none of these				set-up: loopback may not work on this host
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "probes/rdma/rdma.h"

struct gid_choice;
struct rdma_scene;

struct answers {
	struct rdma_engine *engine;
	const struct rdma_port *ports; /* of this host; borrowed, as is `known` */
	size_t n_ports;
	json_t *known;	      /* rates from earlier runs (loopback_known.h) */
	uint64_t deadline_us; /* on the engine's clock: no port is asked later */
	struct {
		int said;     /* whether it answers, if known */
		char *words;  /* why it does not, once investigated; owned */
		bool set_up;  /* the reason is set-up */
	} of[RDMA_PORTS_MAX]; /* by port */
};

void answers_release(struct answers *a);

/* A request through this port was answered. */
void answers_heard(struct answers *a, const struct rdma_port *port);

/* No request from `gid` through this port was answered. Sets the scene's `known` and `set_up`. */
void answers_explain(struct answers *a, const struct rdma_port *port, const struct gid_choice *gid,
		     struct rdma_scene *scene);
