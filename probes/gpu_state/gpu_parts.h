/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a GPU: as the driver knows it, and as the board calls its slot. */
#pragma once

#include <jansson.h>

struct gpu_state;

/*
 * The names of the GPU `subject`, as a list in the format of lib/report/host_parts.h; NULL if NVML
 * has no such GPU. Returns a new reference.
 */
json_t *gpu_parts(const struct gpu_state *state, const char *subject);
