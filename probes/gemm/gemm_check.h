/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the products right? Rounds of one exact integer product on all devices
 * at once, each verified on the host. A wrong one is tried again on the same
 * device in other memory and another shape: wrong again is fatal, once is a
 * warning.
 */
#pragma once

struct gemm_run;

/* Verify products on all live devices at once, emit gemm.correct for each device. */
int gemm_check(struct gemm_run *run);
