/* SPDX-License-Identifier: Apache-2.0 */
/* What a round of copies came to, as samples. */
#pragma once

#include "probes/memory/gpu.h"

/* When a round began and ended, on the engine's clock. */
struct gpu_times {
	uint64_t start_us, end_us;
};

/*
 * Emit the sample of jobs[i] of `n` that ran at once: a rate, or why there is none.
 * `late` says that there was no time to run them.
 */
int gpu_job_emit(const struct gpu_job *jobs, size_t n, size_t i, const struct gpu_times *times,
		 bool late);
