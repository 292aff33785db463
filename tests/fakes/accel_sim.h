/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated engine behind accel.h: cores on a simulated clock, seeded noise,
 * exact products of small shapes, and faults that tests inject. No threads: a
 * stream is the time at which its last work ends, and waiting for an event
 * advances the clock.
 */
#pragma once

#include <stdint.h>

#include "probes/accel/accel.h"

enum { ACCEL_SIM_DEVICES_MAX = 64 };

/* A fault in products when they are read back: `bits` is XORed into the raw element. */
struct accel_sim_fault {
	bool on;
	unsigned device;
	unsigned first,
		count; /* products affected, numbered from 0 as read back; count 0: all from first */
	size_t row, col; /* modulo the shape */
	uint64_t bits;
};

struct accel_sim {
	unsigned n_devices;
	uint64_t seed;
	double flop_per_s;
	double spread; /* standard deviation between devices, and between products on one device */
	double slow[ACCEL_SIM_DEVICES_MAX];  /* multiplies the device's rate; 0: 1 */
	double later[ACCEL_SIM_DEVICES_MAX]; /* multiplies it from later_us on; 0: 1 */
	uint64_t later_us;
	uint64_t hang_at_us[ACCEL_SIM_DEVICES_MAX]; /* its stream hangs from then on; 0: never */
	int fail[ACCEL_SIM_DEVICES_MAX];	    /* gemm_run returns this negative errno */
	double delay[ACCEL_SIM_DEVICES_MAX];	    /* fraction of the time lost to other tasks */
	double steal[ACCEL_SIM_DEVICES_MAX];
	double sibling[ACCEL_SIM_DEVICES_MAX];
	long user_pid[ACCEL_SIM_DEVICES_MAX];
	double user_share[ACCEL_SIM_DEVICES_MAX];
	struct accel_sim_fault fault;
	double launch_us[ACCEL_SIM_DEVICES_MAX]; /* host time to launch a product; 0: none */
	double launch_late_us;			 /* host time of every 100th launch; 0: as others */
	uint64_t memory_bytes;			 /* per device; 0: 16 GiB */
	double copy_bytes_per_s;		 /* 0: a copy takes no time */
	double slow_copy[ACCEL_SIM_DEVICES_MAX]; /* multiplies it on that stream; 0: 1 */
	double far_copy; /* multiplies it when pinned memory is not on NUMA node 0; 0: 1 */
	bool no_peers;	 /* no direct access to the memory of other devices */
	int fail_node;	 /* no pinned memory on this node; 0: works on all nodes */
	bool cc;	 /* confidential computing */
	bool exports_dmabuf, exports_address; /* ways to register a region with an RNIC */
	/*
	 * Not 0: copies to the host from a region of the fault's device that is larger than this
	 * have a flipped bit in 64-bit word `row`, `count` times (0: always).
	 */
	size_t damage_above;
	/*
	 * Faults of such a region, for copies in both directions. stuck_at: bit 0 of byte
	 * stuck_at - 1 is stuck at 1 (0: no such fault). address_line: this bit of the offset is
	 * ignored, so two addresses share a byte.
	 */
	size_t stuck_at, address_line;
	bool damage_upload; /* the last byte of each upload to the fault's device is corrupted */

	/* Counted by the engine. */
	uint64_t products[ACCEL_SIM_DEVICES_MAX]; /* run */
	unsigned damaged;			  /* copies */
	long alive; /* streams, events, products, regions and engines not yet freed */
};

/* Returns the operations of an engine that simulates `sim` (borrowed) when next opened. */
const struct accel_ops *accel_sim_ops(struct accel_sim *sim);
