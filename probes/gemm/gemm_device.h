/* SPDX-License-Identifier: Apache-2.0 */
/* A device of a run: whether it takes work, and its samples. */
#pragma once

#include "probes/gemm/gemm.h"

/* True while the device takes work: not failed, and not in use unless --busy=run. */
bool gemm_live(const struct gemm_device *d);

/* Take the device out, with the words of `err`. */
void gemm_fail(struct gemm_device *d, int r, const struct err *err);

/*
 * A sample of `check` for the device with subject, class and params set; when
 * it failed or is in use by others, with that state and the sentence.
 */
struct sample gemm_sample(const struct gemm_device *d, const char *check);

int gemm_emit(struct gemm_run *run, struct sample *s);

/* Set when it was measured, of times of the engine's clock. */
void gemm_sample_time(struct sample *s, const struct gemm_plan *plan, uint64_t start_us,
		      uint64_t end_us);
