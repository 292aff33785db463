/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue of trace parts that wait for the controller: the newest windows of each job, bounded in
 * bytes. A window is identified by job, run and first step. Pure: it does not touch the
 * descriptors.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agents/assayd/trace_rules.h"
#include "lib/base/macro.h"

enum {
	TRACE_QUEUE_WINDOWS = 4, /* per job */
	TRACE_QUEUE_PARTS = 256, /* 64 ranks per host, times these four windows */
};

struct trace_queue_part {
	char job[TRACE_JOB_SIZE];
	int64_t run, rank, step;
	unsigned part, of;
	uint64_t first_us, last_us; /* of the steps, since boot; 0: unknown */
	uint64_t since_us;	    /* monotonic: when it was queued */
	int fd;			    /* owned by the queue's owner */
	size_t offset, size;	    /* of the part in the file */
};

struct trace_queue {
	struct trace_queue_part *parts; /* in sending order; owned */
	size_t n, alloc;
	uint64_t bytes, bytes_max;
};

/*
 * Queue a part. TRACE_TWICE: one of the same rank and window is queued. `drop` is called for each
 * part before it is removed to make room. TRACE_STALE: the part is older than the queued windows,
 * or there is no room.
 */
enum trace_refusal trace_queue_add(struct trace_queue *q, const struct trace_queue_part *part,
				   void (*drop)(void *context, const struct trace_queue_part *part),
				   void *context);

/* Remove the part at index `i`. */
void trace_queue_remove(struct trace_queue *q, size_t i);
void trace_queue_release(struct trace_queue *q);
