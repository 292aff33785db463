/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL's events are in the ring. These run in the job: in the thread that calls NCCL (an
 * operation begins), in that which plays a graph, and in its proxy's (kernels, steps). They make no
 * system call but to read the clock, which the kernel answers without one.
 *
 * An operation is DONE when all its channels have stopped and none can come: of a collective, NCCL
 * says how many there are; else when a kernel of a later group of operations has started, since the
 * kernels of a communicator run one after the other.
 *
 * Stamps of a GPU: NCCL reads them from 64 places a channel that the kernels write in turn, and
 * does not notice when its thread comes after 64 works; then the stamp is that of a later work, and
 * a later one has a stamp before it. That is when it shows: the operation is flagged, and those
 * before it whose start is after its own.
 */
#pragma once

#include "plugins/nccl/profiler_comm.h"

enum { RECORD_LOOK_BACK = 128 /* operations that are looked through for stamps of later works */ };

/* An operation that begins. */
struct record_op {
	const char *func; /* as NCCL names it; NULL: "" */
	const char *datatype, *algo, *proto;
	uint64_t seq, count;
	int peer; /* root, -1 */
	uint32_t channels;
	/* Of version 3: who the communicator is. */
	const char *name;
	uint64_t comm_id;
	int rank;
};

/* Operations that begin from now on are launched together, and after those before. */
void profiler_record_plan(struct profiler_comm *comm);

/* All that begins gives the handle for NCCL, or NULL: it is not recorded. */
void *profiler_record_op(struct profiler_comm *comm, const struct record_op *op);

/* The work of a channel of the operation with this handle. gpu_ns is 0 where there is no stamp. */
void *profiler_record_start(const void *parent, uint32_t channel, uint64_t gpu_ns);
void profiler_record_stop(struct handle h, uint64_t gpu_ns);

/* The proxy of a channel; `rank` and `pid` of who began the operation. */
void *profiler_record_proxy(const void *parent, pid_t pid, int rank, uint32_t channel);
void profiler_record_proxy_end(struct handle h);
void *profiler_record_step(const void *parent);

/* What it waits for: enum ring_wait, others are left out. */
void profiler_record_wait(struct handle h, int state);
