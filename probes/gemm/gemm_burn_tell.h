/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the results of a burn into samples. */
#pragma once

#include "probes/gemm/gemm_burn.h"

/* Emit the results from `start_us` to `end_us`, on the engine's clock. */
int gemm_burn_tell(const struct burn *b, uint64_t start_us, uint64_t end_us);
