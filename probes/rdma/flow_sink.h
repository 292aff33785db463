/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who takes in what a flow of sends brings: the other ends of its queues, in
 * this process. Each queue has so many receives posted that a send always
 * finds one; what was taken is posted again before the next sends are.
 *
 * A send ends only after the other end has taken it in: so whoever has seen
 * sends end finds as many receives ended, and needs not wait for them.
 */
#pragma once

#include "probes/rdma/rdma.h"

struct err;
struct flow;

/* Receives posted for each send that may be outstanding: they may be told of late. */
enum { SINK_SPARE = 2 };

struct flow_sink {
	struct rdma_engine *engine;
	struct rdma_queue *const *queues; /* they share their completions; borrowed */
	size_t n_queues;
	struct rdma_region target;	/* all receives land here, one size after the other */
	uint32_t size;			/* bytes of a send, at most */
	unsigned depth;			/* receives of each queue: SINK_SPARE x that of the sends */
	unsigned owed[RDMA_QUEUES_MAX]; /* receives of each that must be posted */
	uint64_t at;			/* where the next lands */
	uint64_t received;		/* sends taken in */
	bool ready;			/* all receives are posted once */
};

/*
 * See what has been taken in and post as many receives again; the first time
 * all of them. Negative errno: the queue, or a receive that failed (-EIO).
 */
int sink_turn(struct flow_sink *sink, struct err *err);
