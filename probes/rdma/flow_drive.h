/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driving a flow step by step; shared by flow.c, flow_many.c and flow_latency.c.
 *
 *	drive_start -> drive_fill -> drive_turn or drive_advance ... -> drive_drain
 */
#pragma once

#include "probes/rdma/flow.h"

enum {
	/* Empty polls before the clock is read, and clock reads before the core is yielded. */
	POLLS_PER_LOOK = 64,
	LOOKS_PER_YIELD = 4,
};

/* One queue of a flow while it is driven. */
struct lane {
	struct rdma_queue *queue;
	uint64_t base, bytes; /* its part of the region */
	uint64_t at;	      /* offset of the next request within it */
	uint64_t posted;      /* number of requests */
	unsigned outstanding;
};

struct drive {
	const struct flow *flow;
	const struct rdma_ops *ops;
	struct lane lanes[FLOW_QUEUES_MAX];
	struct flow_result *result;
	uint64_t done_bytes; /* since the start */
	uint64_t deadline_us;
	unsigned looks; /* consecutive looks without a completion */
};

/* Initialise `d` and clear `ret`, which it fills. Posts nothing. */
void drive_start(struct drive *d, const struct flow *flow, uint64_t deadline_us,
		 struct flow_result *ret);

uint64_t drive_now_us(const struct drive *d);

/* Prepare the next `n` requests of the lane; only the last is signalled. */
void drive_work(struct drive *d, struct lane *lane, unsigned n, struct rdma_work *ret);

/* Post `n` requests with one doorbell. */
int drive_ring(struct drive *d, struct lane *lane, const struct rdma_work *work, unsigned n,
	       struct err *err);

/* Poll once. Returns the number of completions, or a negative errno. */
int drive_reap(struct drive *d, struct err *err);

/* Fill each lane up to its depth. */
int drive_fill(struct drive *d, struct err *err);

/* Poll once and refill the lanes. Returns the number of completions, or a negative errno. */
int drive_turn(struct drive *d, struct err *err);

/*
 * Wait for a completion or a failed request. Returns the number of completions, 0 after a failure,
 * -ETIME at the deadline or another negative errno.
 */
int drive_await(struct drive *d, struct err *err);

/* As drive_await(), then refill the lanes. Returns 0 or a negative errno. */
int drive_advance(struct drive *d, struct err *err);

/* Wait until nothing is outstanding, so that the queues can be reused. -ETIME at the deadline. */
int drive_drain(struct drive *d, struct err *err);
