/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation of a ring (ring_layout.h) as it was copied out of it and checked: what everything
 * that reads rings works on. Plain memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_layout.h"

/* Times in nanoseconds, 0: not known. */
struct ring_op {
	uint64_t number; /* of the ring, from 0 */
	uint64_t seq, bytes;
	uint64_t enqueued_ns, host_start_ns, host_stop_ns; /* CLOCK_MONOTONIC of the host */
	uint64_t gpu_start_ns, gpu_stop_ns;		   /* %globaltimer of the GPU */
	uint64_t wait_ns;
	int32_t peer;
	uint16_t channels, started, stopped;
	uint8_t func, wait, flags; /* enum ring_func, ring_wait, ring_flag: nothing else */
	char name[20];		   /* printable, with its NUL */
};

/* Who a ring is of, as it says and was checked. */
struct ring_comm {
	uint64_t comm_id;
	int32_t n_nodes, n_ranks, rank;
	uint32_t api, nccl;
	uint64_t mono_ns, real_ns;
	uint64_t begun, bad_stamps, late_calls, lost, beat_ns;
	uint32_t mask;	   /* of events that are being recorded, as it says */
	uint64_t since_ns; /* kernels have been, without a break, as it says; 0: it does not */
	bool finalized;
	char name[RING_NAME_SIZE];
};

/* A ring as far as it was read. Borrowed. */
struct ring_view {
	const struct ring_comm *comm;
	const struct ring_op *ops; /* ascending by number */
	size_t n;
};
