/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a copy of a few bytes takes, by the GPU's own clock: many of them after each other, put while
 * the GPU is still at work on large ones, so that it never waits for the host to launch the next.
 */
#pragma once

#include "probes/memory/gpu.h"

/*
 * Measure the lane of the job, of GPU_H2D_LAT or GPU_D2H_LAT: its rates become seconds of one copy.
 * `bound` is set when the host launched too slowly for that: its time is in them. A device that is
 * not over by `last_us`, or fails, is taken out.
 */
void gpu_latency_run(struct gpu_job *job, uint64_t last_us);
