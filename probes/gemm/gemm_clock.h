/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock under load. Two hosts with the same parts differ in it by design
 * (silicon, cooling, a power limit), so it is no parameter of a comparison: it
 * is what the rate is divided by, and words beside it.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct gemm_device;
struct gemm_run;
struct sample;

/* Look at the clocks of all live devices, when it is time and the plan is of GPUs. */
void gemm_clock_look(struct gemm_run *run, uint64_t now_us);

/* "SM clock 1410 MHz on average ..., held back by SW power cap"; NULL when unknown. New memory. */
char *gemm_clock_words(const struct gemm_device *d);

/*
 * gemm.per_clock: the rate of `d` in FLOP per cycle and SM. A GPU that is slow
 * with a low clock is throttled or a poor one of its kind; slow at a normal
 * clock something is wrong with it. False when the clock is unknown.
 */
bool gemm_clock_sample(const struct gemm_device *d, struct sample *ret);
