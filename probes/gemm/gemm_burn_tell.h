/* SPDX-License-Identifier: Apache-2.0 */
/* What a burn has seen, as samples. */
#pragma once

#include "probes/gemm/gemm_burn.h"

/* Emit what was seen from `start_us` to `end_us`, by the engine's clock. */
int gemm_burn_tell(const struct burn *b, uint64_t start_us, uint64_t end_us);
