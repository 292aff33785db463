/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow as it is being driven, turn by turn: what flow.c, flow_many.c and
 * flow_latency.c are made of.
 *
 *	drive_start -> drive_fill -> drive_turn or drive_advance ... -> drive_drain
 */
#pragma once

#include "probes/rdma/flow.h"

enum {
	/* Polls without a result before the clock is read, and the core given away. */
	POLLS_PER_LOOK = 64,
	LOOKS_PER_YIELD = 4,
};

/* One queue as it is being driven. */
struct lane {
	struct rdma_queue *queue;
	uint64_t base, bytes; /* its part of the region */
	uint64_t at;	      /* of the next request within it */
	uint64_t posted;      /* requests */
	unsigned outstanding;
};

struct drive {
	const struct flow *flow;
	const struct rdma_ops *ops;
	struct lane lanes[FLOW_QUEUES_MAX];
	struct flow_result *result;
	uint64_t done_bytes; /* since the beginning */
	uint64_t deadline_us;
	unsigned looks; /* in vain, one after the other */
};

/* Set up `d` and clear `ret`, which it fills; nothing is posted. */
void drive_start(struct drive *d, const struct flow *flow, uint64_t deadline_us,
		 struct flow_result *ret);

uint64_t drive_now_us(const struct drive *d);

/* The next `n` requests of the lane; the last asks for a completion. */
void drive_work(struct drive *d, struct lane *lane, unsigned n, struct rdma_work *ret);

/* Post them with one doorbell. */
int drive_ring(struct drive *d, struct lane *lane, const struct rdma_work *work, unsigned n,
	       struct err *err);

/* Take what has ended; returns how many completions, or an error. */
int drive_reap(struct drive *d, struct err *err);

/* Post on each lane as much as its depth allows. */
int drive_fill(struct drive *d, struct err *err);

/* Look once for what has ended and keep each lane full. How many completions, or an error. */
int drive_turn(struct drive *d, struct err *err);

/* Until something ended or a request failed. How many completions, -ETIME at the deadline. */
int drive_await(struct drive *d, struct err *err);

/* The same, and keep each lane full. */
int drive_advance(struct drive *d, struct err *err);

/* Let what is outstanding end, so that the queues can be used again. -ETIME. */
int drive_drain(struct drive *d, struct err *err);
