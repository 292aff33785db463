/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated engine behind accel.h: cores on a clock of its own, seeded noise,
 * exact products of small shapes, and faults put in by tests. No threads: a
 * stream is the time at which its last work ends, and waiting for an event
 * moves the clock.
 */
#pragma once

#include <stdint.h>

#include "probes/accel/accel.h"

enum { ACCEL_SIM_DEVICES_MAX = 64 };

/* A fault in products that are read back: XOR of `bits` into the raw element. */
struct accel_sim_fault {
	bool on;
	unsigned device;
	unsigned first,
		count;	 /* which products that are read back, from 0; count 0: all from there on */
	size_t row, col; /* taken modulo the shape */
	uint64_t bits;
};

struct accel_sim {
	unsigned n_devices;
	uint64_t seed;
	double flop_per_s;
	double spread; /* standard deviation between devices, and between products of one */
	double slow[ACCEL_SIM_DEVICES_MAX];  /* factor of its rate; 0: 1 */
	double later[ACCEL_SIM_DEVICES_MAX]; /* factor from later_us on; 0: 1 */
	uint64_t later_us;
	uint64_t hang_at_us[ACCEL_SIM_DEVICES_MAX]; /* its stream stops then; 0: never */
	int fail[ACCEL_SIM_DEVICES_MAX];	    /* gemm_run returns this negative errno */
	double delay[ACCEL_SIM_DEVICES_MAX];	    /* part of the time that others take */
	double steal[ACCEL_SIM_DEVICES_MAX];
	double sibling[ACCEL_SIM_DEVICES_MAX];
	long user_pid[ACCEL_SIM_DEVICES_MAX];
	double user_share[ACCEL_SIM_DEVICES_MAX];
	struct accel_sim_fault fault;
	double launch_us[ACCEL_SIM_DEVICES_MAX]; /* what a product takes the host; 0: nothing */
	double launch_late_us;			 /* the same of every hundredth of them, in all */
	uint64_t memory_bytes;			 /* of each; 0: 16 GiB */
	double copy_bytes_per_s;		 /* 0: a copy takes no time */
	double slow_copy[ACCEL_SIM_DEVICES_MAX]; /* factor of that on its stream; 0: 1 */
	double far_copy; /* factor of that where pinned memory is on another node than 0; 0: 1 */
	bool no_peers;	 /* devices do not reach each other's memory directly */
	int fail_node;	 /* no pinned memory on this node; 0: on all there is */
	bool cc;	 /* confidential computing */
	bool exports_dmabuf, exports_address; /* ways to hand a region to an RNIC */
	/*
	 * Not 0: copies to the host out of a larger region than this of the fault's device have a
	 * flipped bit in 64-bit word `row`, `count` times (0: all).
	 */
	size_t damage_above;
	/*
	 * Of such a region, for all that is copied into it or out of it: bit 0 of the byte at stuck_at
	 * less 1 is 1 (0: of none), and the bytes whose place has this bit are those without it.
	 */
	size_t stuck_at, address_line;
	bool damage_upload; /* of the fault's device: the first byte of what is sent flips */

	/* Told by the engine. */
	uint64_t products[ACCEL_SIM_DEVICES_MAX]; /* run */
	unsigned damaged;			  /* copies */
	long alive; /* streams, events, products, regions and engines not yet freed */
};

/* Operations of an engine that plays `sim` (borrowed) when it is opened next. */
const struct accel_ops *accel_sim_ops(struct accel_sim *sim);
