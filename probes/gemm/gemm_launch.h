/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of launches on the host. gemm.launch is the median over 16 windows of 64 launches each,
 * of a product so small that nobody waits for the GPU. gemm.launch_p99 is the median over the
 * windows of the longest launch in each, which is the 98.9th percentile of all launches (half of
 * all windows of 64 have none beyond it: 0.5^(1/64)) and does not change if a single window is
 * disturbed. One GPU at a time, from one thread bound near it, as in each rank of a job. If the
 * host has another node with cores, the same from there: gemm.launch_far.
 *
 * A host with launches that take a tenth longer slows down launch-bound jobs (MegaScale, NSDI'24,
 * section 5.2), and no other check shows it: gemm.chain waits for the GPU most of the time.
 */
#pragma once

#include "probes/gemm/gemm.h"

/* If the plan asks for it, measure each usable device and emit its samples. */
int gemm_launch(struct gemm_run *run);
