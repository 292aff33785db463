/* SPDX-License-Identifier: Apache-2.0 */
/* Values of fields (nvmlDeviceGetFieldValues), of which each has a type of its own. Pure. */
#pragma once

#include <stdint.h>

#include "probes/accel/nvml_abi.h"

/* The value, without its fraction; what is below 0 is 0. */
uint64_t nvml_field_number(const struct nvml_field *field);
