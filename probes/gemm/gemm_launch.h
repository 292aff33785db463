/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launching takes the host: gemm.launch, the median over 16 windows of 64 launches each of a
 * product so small that the GPU is not waited for; and gemm.launch_p99, the median over the windows
 * of the longest launch in each, which is the 98.9th percentile of all (half of all windows of 64
 * have none beyond it: 0.5^(1/64)) and does not move when one window was disturbed. One GPU at a
 * time, from one thread bound near it: what each rank of a job has. Where the host has another node
 * with cores, the same from there: gemm.launch_far.
 *
 * A host whose launches take a tenth longer slows down a job that is bound by them (MegaScale,
 * NSDI'24, section 5.2), and nothing else shows it: gemm.chain waits for the GPU most of the time.
 */
#pragma once

#include "probes/gemm/gemm.h"

/* Where the plan wants it, measure each live device, emit its samples. */
int gemm_launch(struct gemm_run *run);
