/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU is called: by the driver, and by the board that it is plugged into. */
#pragma once

#include <jansson.h>

struct gpu_state;

/*
 * What the GPU of a subject is called: a list as lib/report/host_parts.h has it, NULL when it is
 * not one that NVML shows. New reference.
 */
json_t *gpu_parts(const struct gpu_state *state, const char *subject);
