/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contended is busy, never slow. Use of a core by others is detected by the time its stream waited
 * for it (run delay), by steal time, and by what ran on the core's other hardware threads.
 */
#pragma once

#include "probes/gemm/gemm.h"

enum gemm_phase {
	GEMM_WARMED,   /* the warm-up has ended: does anyone run a job here? */
	GEMM_MEASURED, /* the measurement has ended: was it disturbed? */
};

/* Ask the engine who uses each device now; devices in use are left alone. */
void gemm_busy_look(struct gemm_run *run);
/* Around a phase of `measured_us`: how much others took from each device meanwhile. */
void gemm_busy_start(struct gemm_run *run);
void gemm_busy_end(struct gemm_run *run, enum gemm_phase phase, uint64_t measured_us);
