/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: several products between two events, timed by the device's own
 * clock. A few are always put ahead, so that no device waits for the one who
 * counts. Nobody waits for a device that is late either: each fills its windows
 * at its own pace until the stretch ends.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct gemm_run;

/* A stretch of time in which devices fill windows. */
struct gemm_stretch {
	uint64_t window_us; /* length of a window */
	uint64_t end_us;    /* from then on no more windows are put than must be */
	uint64_t last_us;   /* what is late then is left */
	bool counts;	    /* the windows are a measurement */
};

/* From now on windows do not count; from now on they do, those that are in flight excepted. */
void gemm_windows_warm(struct gemm_run *run);
void gemm_windows_count(struct gemm_run *run);

/*
 * Put what is wanted and take what is over; for what is not `slice_us` may
 * pass for each device. False when the stretch is over.
 */
bool gemm_windows_turn(struct gemm_run *run, const struct gemm_stretch *stretch, uint64_t slice_us);

/* The same until it is over. */
void gemm_windows_fill(struct gemm_run *run, const struct gemm_stretch *stretch);
