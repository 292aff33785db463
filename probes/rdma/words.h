/* SPDX-License-Identifier: Apache-2.0 */
/* What became of work, in words; and whose fault it is. Pure. */
#pragma once

#include "probes/rdma/rdma.h"

struct sample;

/* "the other side does not answer (retry exceeded), status 12, vendor error 0x81". New memory. */
char *rdma_done_words(const struct rdma_done *done);

/* Does this status accuse the path, rather than how it was set up? */
bool rdma_status_is_sick(int status);

/* How things stood right after a measurement. */
struct rdma_scene {
	const char *device;
	unsigned port;
	bool gone;		 /* the device was removed */
	bool down;		 /* the port was active before and is no more */
	bool taken_down;	 /* and that by an operator */
	struct rdma_done failed; /* the first that failed; RDMA_OK: none */
	/* Of no answer: what else is known of it, in words, or NULL; and if it is for that set-up. */
	const char *known;
	bool set_up;
};

/*
 * What a measurement is worth that ended in such a scene; true when `s` is
 * told it: state, ok, severity, code and note. False: nothing is the matter.
 *
 *	device removed			set-up: somebody took it away
 *	port taken down			aborted: an operator wanted it so
 *	port down			measured, not ok, a warning: a link that flaps
 *	no answer on an active port	measured, not ok, 0 where more is better: a sick path;
 *					set-up when the scene says so
 *	refused, not ready, local	set-up
 */
bool rdma_explain(const struct rdma_scene *scene, struct sample *s);
