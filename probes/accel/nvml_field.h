/* SPDX-License-Identifier: Apache-2.0 */
/* Values of fields (nvmlDeviceGetFieldValues), each of which has its own type. Pure. */
#pragma once

#include <stdint.h>

#include "probes/accel/nvml_abi.h"

/* The value as an integer, truncated; negative values are 0. */
uint64_t nvml_field_number(const struct nvml_field *field);
