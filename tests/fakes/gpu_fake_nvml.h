/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the fake of NVML only. */
#pragma once

#include "tests/fakes/gpu_fake.h"

struct nvml_device {
	unsigned gpu;
};

struct nvml_device *fake_device(unsigned gpu);

/* What a call about a GPU answers, when it answers; `call` is its own name. */
unsigned fake_answer_at(const struct nvml_device *device, const char *call);
#define fake_answer(device) fake_answer_at(device, __func__)

/* A call about no GPU: it comes back unless at= names it. */
void fake_system_call(const char *call);

/* Every other GPU of mixed=1, and the default power limit of its model. */
bool fake_is_other_model(const struct nvml_device *device);
unsigned fake_power_mw(const struct nvml_device *device);
