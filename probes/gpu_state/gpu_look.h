/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one GPU, from inside its worker. */
#pragma once

#include "probes/gpu_state/gpu_read.h"

struct worker;

/* The NVML function behind each member of the tables, for people. */
#define NVML_NAME_MEMBER(needed, result, member, symbol, parameters) const char *member;
struct nvml_base_names {
	CUDA_NVML_FUNCTIONS(NVML_NAME_MEMBER)
};
struct nvml_health_names {
	NVML_HEALTH_FUNCTIONS(NVML_NAME_MEMBER)
};
struct nvml_names {
	struct nvml_base_names base;
	struct nvml_health_names health;
};
extern const struct nvml_names nvml_names;

/*
 * Evaluate the result of the function `name`; returns true if it succeeded. What the driver does
 * not know stays unknown. A GPU that is gone or must be reset is not queried any further.
 */
bool gpu_took(const struct nvml_calls *calls, struct gpu_reading *to, const char *name,
	      unsigned result);

/*
 * Fill `ret`, whose index is set, with a driver of this version ("": unknown). Returns the device,
 * or NULL if NVML does not return one.
 */
struct nvml_device *gpu_look(const struct nvml_calls *calls, const char *driver, struct worker *w,
			     struct gpu_reading *ret);
