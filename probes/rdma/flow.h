/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow: one or more connected queues kept full of reads, writes or sends, and
 * what goes through them in each part of the time. Two flows that go opposite ways
 * are bidirectional traffic: flow_many.h.
 *
 * Requests are posted in batches, one doorbell each, and only the last of a
 * batch asks for a completion. A completion says that its whole batch is done,
 * so bytes are counted batch by batch. Buffers of `stride` bytes are gone round
 * so that more than the caches is used.
 */
#pragma once

#include "lib/base/clock.h"
#include "probes/rdma/rdma.h"

enum {
	FLOW_QUEUES_MAX = RDMA_QUEUES_MAX,
	FLOW_WINDOWS_MIN = 8,
	FLOW_WINDOWS_MAX = 32,
	FLOW_BATCH_MAX = 16,
	/* In how many batches a queue is full, so that it never runs low while one is posted. */
	FLOW_BATCHES = 4,
};

/* A path that is dead says so by then: 8 tries of 67 ms, which devices may stretch to 4 times. */
#define FLOW_DRAIN_US (3 * USEC_PER_SEC)

/* How completions are awaited. */
enum flow_wait {
	FLOW_SPIN,   /* poll: a core of its own, given away when nothing comes for long */
	FLOW_EVENTS, /* sleep on the completion channel, which must have been asked for */
};

struct flow_sink;

struct flow {
	struct rdma_engine *engine;
	struct rdma_queue *queues[FLOW_QUEUES_MAX]; /* they share their completions */
	size_t n_queues;
	struct rdma_region local; /* all queues share it, each a part */
	uint64_t remote;	  /* address on the other side, as large as `local` */
	uint32_t rkey;
	int opcode;		/* enum rdma_opcode */
	struct flow_sink *sink; /* of sends: who takes them in; else NULL */
	uint32_t size;		/* bytes of a request */
	unsigned depth;		/* requests outstanding of each queue */
	unsigned batch;		/* requests of a doorbell; divides `depth` */
	int wait;		/* enum flow_wait */
	bool stays;		/* who drives it keeps to one core meanwhile: core_keep.h */
	/*
	 * Of flow_latency() with writes: the memory of this host that the request lands in. A
	 * trip then ends when its data is seen there, as the ping-pong of others does it;
	 * NULL: when it is completed.
	 */
	volatile unsigned char *lands;
	bool watched; /* a thread of its own sees it, when there is a core: flow_watch.h */
	bool inlined; /* the data goes with the request: for a few bytes */
};

/* As many requests in a batch as suit a queue of `depth`. */
static inline unsigned flow_batch(unsigned depth)
{
	return MIN(MAX(depth / FLOW_BATCHES, 1u), (unsigned)FLOW_BATCH_MAX);
}

/* Bytes of `local` that each queue goes round in: the first begins at 0, then the next. */
uint64_t flow_part(const struct flow *flow);

/*
 * Open `n` queues that share their completions, all with `options` (its `with`
 * and `sharers` are set here), into `flow->queues`; `flow->engine` is given.
 * Each must then be connected. What was opened before an error is closed.
 */
int flow_open(struct flow *flow, struct rdma_device *device,
	      const struct rdma_queue_options *options, size_t n, struct err *err);

/* Close them; the last opened first. */
void flow_close(struct flow *flow);

struct flow_result {
	double windows[FLOW_WINDOWS_MAX]; /* bytes per second */
	size_t n;
	double seconds;
	uint64_t bytes; /* of all windows */
	/* All that was asked of the device, warming up and running out included. */
	uint64_t requests, doorbells, completions, empty_polls;
	uint64_t covered; /* bytes from the beginning of every queue's part that were gone over */
	bool answered;	  /* some request was */
	bool left;	  /* requests were left outstanding: the queues are of no more use */
	int status;	  /* enum rdma_status of the first that failed */
	struct rdma_done failed; /* that one */
};
