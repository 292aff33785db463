/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.rate: how fast each device is while all of them work. */
#pragma once

struct gemm_run;

/* Warm up, then measure all usable devices at once; emit gemm.rate for each device. */
int gemm_rate(struct gemm_run *run);
