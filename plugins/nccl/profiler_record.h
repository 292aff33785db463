/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records NCCL's events in the ring. Runs inside the job: in the thread that calls NCCL (start of
 * an operation), in the one that replays a graph, and in NCCL's proxy thread (kernels, steps).
 * Makes no system calls; the clock is read through the vDSO.
 *
 * An operation is DONE when all channels that started have stopped and no more can start. For a
 * collective, NCCL reports the number of channels; otherwise it is when a kernel of a later group
 * of operations has started, because the kernels of a communicator run one after the other.
 *
 * GPU timestamps: NCCL reads them from 64 entries per channel that kernels write in turn, and does
 * not notice if its thread is more than 64 works behind. An operation then gets the timestamp of a
 * later work, and a later operation has an earlier timestamp, which is how it is detected: that
 * operation is flagged, and those before it that seem to have started after it.
 */
#pragma once

#include "plugins/nccl/profiler_comm.h"

enum { RECORD_LOOK_BACK = 128 /* operations searched for timestamps of later works */ };

/* The start of an operation. */
struct record_op {
	const char *func; /* NCCL's name for it; NULL: "" */
	const char *datatype, *algo, *proto;
	uint64_t seq, count;
	int peer; /* or root; -1: none */
	uint32_t channels;
	/* In version 3 only: which communicator it is. */
	const char *name;
	uint64_t comm_id;
	int rank;
};

/* Operations from now on are launched together, and after the previous ones. */
void profiler_record_plan(struct profiler_comm *comm);

/* Functions for something that starts return the handle for NCCL, or NULL if it is not recorded. */
void *profiler_record_op(struct profiler_comm *comm, const struct record_op *op);

/*
 * The work of a channel for the operation with this handle. gpu_ns is 0 if there is no timestamp.
 */
void *profiler_record_start(const void *parent, uint32_t channel, uint64_t gpu_ns);
void profiler_record_stop(struct handle h, uint64_t gpu_ns);

/* The proxy of a channel; `rank` and `pid` are of the process that started the operation. */
void *profiler_record_proxy(const void *parent, pid_t pid, int rank, uint32_t channel);
void profiler_record_proxy_end(struct handle h);
void *profiler_record_step(const void *parent);

/* What the step waits for: enum ring_wait, other states are ignored. */
void profiler_record_wait(struct handle h, int state);
