/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow: one or more connected queues kept full of reads, writes or sends, and the throughput in
 * each time window. Bidirectional traffic is two flows in opposite directions: flow_many.h.
 *
 * Requests are posted in batches, one doorbell per batch, and only the last request of a batch is
 * signalled. Its completion covers the whole batch, so bytes are counted per batch. Each queue
 * cycles through its part of the buffer (flow_part()), which is larger than the CPU caches.
 */
#pragma once

#include "lib/base/clock.h"
#include "probes/rdma/rdma.h"

enum {
	FLOW_QUEUES_MAX = RDMA_QUEUES_MAX,
	FLOW_WINDOWS_MIN = 8,
	FLOW_WINDOWS_MAX = 32,
	FLOW_BATCH_MAX = 16,
	/* Batches in a full queue, so that it does not run low while one is being posted. */
	FLOW_BATCHES = 4,
};

/* By then a dead path has reported an error: 8 tries of 67 ms, stretched up to 4 times. */
#define FLOW_DRAIN_US (3 * USEC_PER_SEC)

/* How to wait for completions. */
enum flow_wait {
	FLOW_SPIN,   /* poll on a core of its own; yields after a long time without completions */
	FLOW_EVENTS, /* sleep on the completion channel; needs queues with `events` */
};

struct flow_sink;

struct flow {
	struct rdma_engine *engine;
	struct rdma_queue *queues[FLOW_QUEUES_MAX]; /* share one completion queue */
	size_t n_queues;
	struct rdma_region local; /* shared by all queues, a part for each */
	uint64_t remote;	  /* address on the other side; same size as `local` */
	uint32_t rkey;
	int opcode;		/* enum rdma_opcode */
	struct flow_sink *sink; /* receiving end of sends; otherwise NULL */
	uint32_t size;		/* bytes per request */
	unsigned depth;		/* outstanding requests per queue */
	unsigned batch;		/* requests per doorbell; divides `depth` */
	int wait;		/* enum flow_wait */
	bool stays;		/* pin the driving thread to its core (core_keep.h) */
	/*
	 * For flow_latency() with writes: where the data lands in the memory of this host. A trip
	 * then ends when the data is visible there, as in other ping-pong benchmarks. If NULL, it
	 * ends with the completion.
	 */
	volatile unsigned char *lands;
	bool watched; /* watch `lands` from a second thread if a core is free (flow_watch.h) */
	bool inlined; /* send the data inline; for a few bytes */
};

/* The batch size that suits a queue of `depth`. */
static inline unsigned flow_batch(unsigned depth)
{
	return MIN(MAX(depth / FLOW_BATCHES, 1u), (unsigned)FLOW_BATCH_MAX);
}

/* Bytes of `local` that each queue cycles through. The parts follow each other from offset 0. */
uint64_t flow_part(const struct flow *flow);

/*
 * Open `n` queues that share their completions into `flow->queues`, all with `options` (whose
 * `with` and `sharers` are set here). `flow->engine` must be set. The caller then connects each
 * queue. On an error, the queues opened so far are closed.
 */
int flow_open(struct flow *flow, struct rdma_device *device,
	      const struct rdma_queue_options *options, size_t n, struct err *err);

/* Close the queues, the last opened first. */
void flow_close(struct flow *flow);

struct flow_result {
	double windows[FLOW_WINDOWS_MAX]; /* bytes per second */
	size_t n;
	double seconds;
	uint64_t bytes; /* of all windows */
	/* Everything asked of the device, including warm-up and drain. */
	uint64_t requests, doorbells, completions, empty_polls;
	uint64_t covered; /* bytes from the start of its part that every queue has gone through */
	bool answered;	  /* at least one request succeeded */
	bool left;	  /* requests are still outstanding; the queues are unusable */
	int status;	  /* enum rdma_status of the first failure */
	struct rdma_done failed; /* the first failure */
};
