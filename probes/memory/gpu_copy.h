/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copy rates by the device's own clock: windows of several copies between two events, with a few
 * windows always enqueued ahead. All lanes run at their own pace until the round ends.
 */
#pragma once

#include "probes/memory/gpu.h"

/*
 * Run the lanes of all jobs at once for `us`, longer if a lane is slow but not beyond `last_us`. A
 * device whose lane has not finished by then, or fails, is excluded.
 */
void gpu_copy_run(struct gpu_plan *plan, struct gpu_job *jobs, size_t n, uint64_t us,
		  uint64_t last_us);
