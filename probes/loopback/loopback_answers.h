/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it means that a port does not answer what it sends to itself. On an active port that is a
 * sick path; but an RNIC may be told not to loop back, an address may be of a VLAN or network that
 * is not there, and a switch need not send back what came from the same port. So it is asked, with
 * one small write each, who does answer:
 *
 *	the port, at other memory		sick: the way to this memory
 *	the port, from another of its addresses	set-up: the address
 *	the port, in an earlier run		sick
 *	another port of its kind		sick: here it can be done, and this one does not
 *	nobody, ever				set-up: nothing says that it can be done here
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
	json_t *known;	      /* cells of earlier runs (loopback_known.h) */
	uint64_t deadline_us; /* on the clock of the engine: nobody is asked later */
	struct {
		int said;     /* whether it answers, as far as it is known */
		char *words;  /* why it does not, once that was looked into; owned */
		bool set_up;  /* that is its set-up */
	} of[RDMA_PORTS_MAX]; /* by port */
};

void answers_release(struct answers *a);

/* Some request through this port was answered. */
void answers_heard(struct answers *a, const struct rdma_port *port);

/* None through this one was, from the address `gid`: `known` and `set_up` of the scene. */
void answers_explain(struct answers *a, const struct rdma_port *port, const struct gid_choice *gid,
		     struct rdma_scene *scene);
