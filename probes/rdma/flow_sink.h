/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving end of a flow of sends: the peers of its queues, in this process. Each queue has
 * enough receives posted that a send always finds one. Used receives are posted again before the
 * next sends.
 *
 * A send completes only after the other end has received it. So once sends have completed, as many
 * receives have too, and there is no need to wait for them.
 */
#pragma once

#include "probes/rdma/rdma.h"

struct err;
struct flow;

/* Receives posted per send that may be outstanding: their completions may be reported late. */
enum { SINK_SPARE = 2 };

struct flow_sink {
	struct rdma_engine *engine;
	struct rdma_queue *const *queues; /* share one completion queue; borrowed */
	size_t n_queues;
	struct rdma_region target; /* receives land here, in slots of `size` */
	uint32_t size;		   /* maximum bytes of a send */
	unsigned depth;		   /* receives per queue: SINK_SPARE times the depth of the sends */
	unsigned owed[RDMA_QUEUES_MAX]; /* receives to post, per queue */
	uint64_t at;			/* offset of the next slot */
	uint64_t received;		/* sends received */
	bool ready;			/* all receives have been posted once */
};

/*
 * Collect completed receives and post as many again; the first call posts all of them. Returns a
 * negative errno if the queue fails, or -EIO for a failed receive.
 */
int sink_turn(struct flow_sink *sink, struct err *err);
