/* SPDX-License-Identifier: Apache-2.0 */
/* All RDMA ports of the host over the fabric, on host memory: without GPUs, and in guests. */
#pragma once

#include "probes/all_to_all/all_to_all.h"

extern const struct all_to_all_kind all_to_all_rnics;

/* As all_to_all_run_gpus(), over the open ports `plan->ports`. -ENODEV with fewer than two. */
int all_to_all_run_rnics(struct all_to_all_plan *plan, struct err *err);
