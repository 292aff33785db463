/* SPDX-License-Identifier: Apache-2.0 */
/* A device of a run: whether it can be used, and its samples. */
#pragma once

#include "probes/gemm/gemm.h"

/* Can the device be used? It must not have failed, nor be in use unless --busy=run. */
bool gemm_live(const struct gemm_device *d);

/* Exclude the device, with the message of `err`. */
void gemm_fail(struct gemm_device *d, int r, const struct err *err);

/*
 * A sample of `check` for the device, with subject, class and params. If the device failed or is
 * used by others, it has the matching state and note.
 */
struct sample gemm_sample(const struct gemm_device *d, const char *check);

int gemm_emit(struct gemm_run *run, struct sample *s);

/* Set the times of measurement, given on the engine's clock. */
void gemm_sample_time(struct sample *s, const struct gemm_plan *plan, uint64_t start_us,
		      uint64_t end_us);
