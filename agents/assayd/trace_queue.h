/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which parts of traces wait for the controller: the newest windows of each job, within a number of
 * bytes. A window is of a job and run, and begins with a step. Pure: descriptors are numbers here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "agents/assayd/trace_rules.h"
#include "lib/base/macro.h"

enum {
	TRACE_QUEUE_WINDOWS = 4, /* of a job */
	TRACE_QUEUE_PARTS = 256, /* a host has 64 ranks, and these four windows */
};

struct trace_queue_part {
	char job[TRACE_JOB_SIZE];
	int64_t run, rank, step;
	unsigned part, of;
	uint64_t first_us, last_us; /* begin of the first step and end of the last one, on the clock
				       since boot; 0: not known */
	uint64_t since_us;	    /* waits, monotonic */
	int fd;			    /* owned by whoever owns the queue */
	size_t offset, size;	    /* of the part in it */
};

struct trace_queue {
	struct trace_queue_part *parts; /* in the order in which they are to be sent; owned */
	size_t n, alloc;
	uint64_t bytes, bytes_max;
};

/*
 * Add one. TRACE_TWICE: one of its rank and window waits. `drop` is told each part that goes for
 * it, before it goes; TRACE_STALE: it is older than the windows that wait, or finds no room.
 */
enum trace_refusal trace_queue_add(struct trace_queue *q, const struct trace_queue_part *part,
				   void (*drop)(void *context, const struct trace_queue_part *part),
				   void *context);

/* Forget the one at `i`. */
void trace_queue_remove(struct trace_queue *q, size_t i);
void trace_queue_release(struct trace_queue *q);
