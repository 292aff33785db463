/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a copy of a few bytes, by the GPU's own clock. Many are enqueued while the GPU is
 * still busy with large copies, so that it never waits for the host to launch the next one.
 */
#pragma once

#include "probes/memory/gpu.h"

/*
 * Measure the lane of a job of kind GPU_H2D_LAT or GPU_D2H_LAT: its rates become seconds per copy.
 * `bound` is set if the host launched too slowly, so that its time is included. A device that fails
 * or is not done by `last_us` is excluded from then on.
 */
void gpu_latency_run(struct gpu_job *job, uint64_t last_us);
