/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock under load. It differs between hosts with the same parts by design (silicon, cooling,
 * power limit), so it is not a parameter that must be equal: the rate is divided by it, and it is
 * mentioned in notes.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct gemm_device;
struct gemm_run;
struct sample;

/* Read the clocks of all usable devices if it is time, and if the plan is for GPUs. */
void gemm_clock_look(struct gemm_run *run, uint64_t now_us);

/* "SM clock 1410 MHz on average ..., held back by SW power cap"; NULL: unknown. Caller frees. */
char *gemm_clock_words(const struct gemm_device *d);

/*
 * gemm.per_clock: the rate of `d` in FLOP per cycle and SM. A GPU that is slow at a low clock is
 * throttled, or poor silicon; one that is slow at a normal clock has a fault. Returns false if the
 * clock is unknown.
 */
bool gemm_clock_sample(const struct gemm_device *d, struct sample *ret);
