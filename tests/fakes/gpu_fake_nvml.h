/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the fake of NVML only. */
#pragma once

#include "tests/fakes/gpu_fake.h"

struct nvml_device {
	unsigned gpu;
};

struct nvml_device *fake_device(unsigned gpu);

/* What a call about a GPU answers, when it answers. */
unsigned fake_answer(const struct nvml_device *device);
