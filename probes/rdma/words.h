/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the outcome of work for people, and decides whose fault it is. Pure. */
#pragma once

#include "probes/rdma/rdma.h"

struct sample;

/* "the other side does not answer (retry exceeded), status 12, vendor error 0x81". Caller frees. */
char *rdma_done_words(const struct rdma_done *done);

/* Does this status point to the path, rather than to the set-up? */
bool rdma_status_is_sick(int status);

/* The state of things right after a measurement. */
struct rdma_scene {
	const char *device;
	unsigned port;
	bool gone;		 /* the device was removed */
	bool down;		 /* the port was active before and no longer is */
	bool taken_down;	 /* by an operator */
	struct rdma_done failed; /* the first failure; RDMA_OK: none */
	/* If there was no answer: what else is known, or NULL, and whether that makes it set-up. */
	const char *known;
	bool set_up;
};

/*
 * Fill `s` (state, ok, severity, code and note) according to the scene. Returns false, and leaves
 * `s` alone, if nothing is wrong.
 *
 *	device removed			set-up: somebody removed it
 *	port taken down			aborted: an operator wanted it so
 *	port down			measured, not ok, a warning: a link that flaps
 *	no answer on an active port	measured, not ok, 0 where more is better: a bad path;
 *					set-up if the scene says so
 *	refused, not ready, local	set-up
 */
bool rdma_explain(const struct rdma_scene *scene, struct sample *s);
