/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: several products between two events, timed by the device's own clock. A few are always
 * enqueued ahead, so that no device waits for the thread that counts. Nor does anyone wait for a
 * late device: each fills its windows at its own pace until the stretch ends.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct gemm_run;

/* A period in which devices fill windows. */
struct gemm_stretch {
	uint64_t window_us; /* length of a window */
	uint64_t end_us;    /* after this, only as many windows are enqueued as are needed */
	uint64_t last_us;   /* windows later than this are abandoned */
	bool counts;	    /* the windows are a measurement */
};

/* From now on, windows do not count; or do, except those in flight. */
void gemm_windows_warm(struct gemm_run *run);
void gemm_windows_count(struct gemm_run *run);

/*
 * Enqueue windows as needed and take finished ones, waiting up to `slice_us` for each device.
 * Returns false when the stretch is over.
 */
bool gemm_windows_turn(struct gemm_run *run, const struct gemm_stretch *stretch, uint64_t slice_us);

/* Repeat that until it is over. */
void gemm_windows_fill(struct gemm_run *run, const struct gemm_stretch *stretch);
