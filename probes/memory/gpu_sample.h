/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the result of a round of copies into samples. */
#pragma once

#include "probes/memory/gpu.h"

/* Start and end of a round, on the engine's clock. */
struct gpu_times {
	uint64_t start_us, end_us;
};

/*
 * Emit the sample of jobs[i] of the `n` that ran at once: a rate, or why there is none. `late`:
 * there was no time to run them.
 */
int gpu_job_emit(const struct gpu_job *jobs, size_t n, size_t i, const struct gpu_times *times,
		 bool late);
