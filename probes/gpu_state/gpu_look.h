/* SPDX-License-Identifier: Apache-2.0 */
/* The look at one GPU, from inside the worker. */
#pragma once

#include "probes/gpu_state/gpu_read.h"

struct worker;

/* Fill `ret`, whose index is set; the device, or NULL when NVML gives none. */
struct nvml_device *gpu_look(const struct nvml_calls *calls, struct worker *w,
			     struct gpu_reading *ret);
