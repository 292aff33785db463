/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the fake NVML. */
#pragma once

#include "tests/fakes/gpu_fake.h"

struct nvml_device {
	unsigned gpu;
};

struct nvml_device *fake_device(unsigned gpu);

/* Returns the result of a call about a GPU, after any delay or hang; `call` is its name. */
unsigned fake_answer_at(const struct nvml_device *device, const char *call);
#define fake_answer(device) fake_answer_at(device, __func__)

/* For a call about no particular GPU: returns unless at= names it. */
void fake_system_call(const char *call);

/* True for every other GPU with mixed=1. The default power limit of the model. */
bool fake_is_other_model(const struct nvml_device *device);
unsigned fake_power_mw(const struct nvml_device *device);
