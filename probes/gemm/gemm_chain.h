/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain as in a forward pass: layers of four products and six copies (in the
 * place of what runs through memory: norms, softmax, residuals), launched one
 * by one. Hosts that slow training down by a tenth were not seen in products
 * alone (MegaScale, NSDI'24, section 5.2): there the launches run ahead of the
 * GPU. Here a launch that takes long leaves the GPU without work.
 *
 * The GPU's own time is that of the chain put behind copies that last until all
 * of it is launched; the time in earnest that of a chain put on an idle stream.
 * Both are read from the GPU's clock, and both at the same one: copies draw too
 * little power to be throttled for, which products of that time did (30 ms, so
 * that the chain behind them had the clock of full load, and its own time was so
 * much too long that launches of a host 20 % late were not seen). One GPU at a
 * time, from one thread bound near it: what each rank of a job has. Where the host
 * has another node with cores, the same from there: gemm.chain_far.
 */
#pragma once

struct gemm_run;

/* Where the plan wants it, measure a chain of small work on each live device, emit gemm.chain. */
int gemm_chain(struct gemm_run *run);
