/* SPDX-License-Identifier: Apache-2.0 */
/* All GPUs of the host, through NCCL. */
#pragma once

#include "probes/all_to_all/all_to_all.h"

extern const struct all_to_all_kind all_to_all_gpus;

/*
 * Measure and emit. -ENODEV with fewer than two GPUs, otherwise what `emit` returned. A GPU or link
 * that hangs or fails is a sample, not an error.
 */
int all_to_all_run_gpus(struct all_to_all_plan *plan, struct err *err);
