/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contended is busy, never slow. A core shared with others is told by the
 * time its stream waited for it (run delay), by what a hypervisor took, and
 * by what ran on the other hardware threads of the core.
 */
#pragma once

#include "probes/gemm/gemm.h"

enum gemm_phase {
	GEMM_WARMED,   /* the warm-up is over: who takes much has a job here */
	GEMM_MEASURED, /* the measurement is over: was it disturbed? */
};

/* Ask the engine who uses each device now: those that others have are left alone. */
void gemm_busy_look(struct gemm_run *run);
/* Around a phase of `measured_us`: what others took from each device meanwhile. */
void gemm_busy_start(struct gemm_run *run);
void gemm_busy_end(struct gemm_run *run, enum gemm_phase phase, uint64_t measured_us);
