/* SPDX-License-Identifier: Apache-2.0 */
/* All RDMA ports of the host over the fabric, on its memory: without GPUs, and in guests. */
#pragma once

#include "probes/all_to_all/all_to_all.h"

extern const struct all_to_all_kind all_to_all_rnics;

/* The same over the ports of `plan->ports`, which are open. -ENODEV with fewer than two. */
int all_to_all_run_rnics(struct all_to_all_plan *plan, struct err *err);
