/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of copies, timed by the device's own clock: windows of several copies
 * between two events, a few of them always put ahead. All lanes run at their own
 * pace until the round ends.
 */
#pragma once

#include "probes/memory/gpu.h"

/*
 * Run the lanes of all jobs at once for `us`, longer where a lane is slow but not
 * beyond `last_us`. A device whose lane is not over then, or fails, is taken out.
 */
void gpu_copy_run(struct gpu_plan *plan, struct gpu_job *jobs, size_t n, uint64_t us,
		  uint64_t last_us);
