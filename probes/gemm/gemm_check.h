/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the products right? Rounds of an exact integer product on all devices at once, each verified
 * on the host. If one is wrong, it is retried on the same device in other memory and with another
 * shape: wrong again is fatal, wrong once is a warning.
 */
#pragma once

struct gemm_run;

/* Verify products on all usable devices at once, and emit gemm.correct for each device. */
int gemm_check(struct gemm_run *run);
