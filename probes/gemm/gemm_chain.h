/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain as in a forward pass: layers of four products and six copies (standing for memory-bound
 * operations: norms, softmax, residuals), launched one by one. Hosts that slow training down by a
 * tenth were not found with products alone (MegaScale, NSDI'24, section 5.2), because launches then
 * run ahead of the GPU. Here a slow launch leaves the GPU without work.
 *
 * The GPU's own time is measured on a chain enqueued behind copies that last until all of it is
 * launched; the real time on a chain launched on an idle stream. Both use the GPU's clock, and run
 * at the same clock frequency: copies draw too little power to be throttled for. (Products of the
 * same duration, 30 ms, were: the chain behind them then ran at the clock of full load, which made
 * its own time so much too long that launches 20 % too slow went unnoticed.) One GPU at a time,
 * from one thread bound near it, as in each rank of a job. If the host has another node with cores,
 * the same from there: gemm.chain_far.
 */
#pragma once

struct gemm_run;

/*
 * If the plan asks for it, measure a chain of small work on each usable device and emit gemm.chain.
 */
int gemm_chain(struct gemm_run *run);
