/* SPDX-License-Identifier: Apache-2.0 */
/* The look at one GPU, from inside the worker. */
#pragma once

#include "probes/gpu_state/gpu_read.h"

struct worker;

/* The function of NVML behind each member of the tables, for people. */
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
 * Take an answer of the function `name`: true when it is one. What a driver does not
 * know stays unknown; a GPU that is gone or must be reset ends the look at it.
 */
bool gpu_took(const struct nvml_calls *calls, struct gpu_reading *to, const char *name,
	      unsigned result);

/*
 * Fill `ret`, whose index is set, by the driver of this version ("" when it is not known); the
 * device, or NULL when NVML gives none.
 */
struct nvml_device *gpu_look(const struct nvml_calls *calls, const char *driver, struct worker *w,
			     struct gpu_reading *ret);
