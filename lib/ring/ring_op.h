/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation copied from a ring (ring_layout.h) and checked, for everything that reads rings.
 * Plain memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_layout.h"

/* Times in nanoseconds, 0: unknown. */
struct ring_op {
	uint64_t number; /* in the ring, from 0 */
	uint64_t seq, bytes;
	uint64_t enqueued_ns, host_start_ns, host_stop_ns; /* CLOCK_MONOTONIC of the host */
	uint64_t gpu_start_ns, gpu_stop_ns;		   /* %globaltimer of the GPU */
	uint64_t wait_ns;
	int32_t peer;
	uint16_t channels, started, stopped;
	uint8_t func, wait, flags; /* only values of enum ring_func, ring_wait, ring_flag */
	char name[20];		   /* printable, NUL-terminated */
};

/* The owner of a ring according to its head, checked. */
struct ring_comm {
	uint64_t comm_id;
	int32_t n_nodes, n_ranks, rank;
	uint32_t api, nccl;
	uint64_t mono_ns, real_ns;
	uint64_t begun, bad_stamps, late_calls, lost, beat_ns;
	uint32_t mask;	   /* events being recorded, by its own account */
	uint64_t since_ns; /* kernels recorded without a break since, as it says; 0: unknown */
	bool finalized;
	char name[RING_NAME_SIZE];
};

/* The part of a ring that was read. Borrowed. */
struct ring_view {
	const struct ring_comm *comm;
	const struct ring_op *ops; /* ascending by number */
	size_t n;
};
