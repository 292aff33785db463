/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process lists as filled in by NVML. Drivers 535.43 to 535.86 fill in an nvmlProcessInfo_v3_t that
 * has one member more than in any earlier or later driver. If read as usual, every second pid would
 * be garbage, and the GPU would seem to be in use by an unknown process. Pure.
 *
 * Source: nvml.h of CUDA 12.2 and 12.3 (usedGpuCcProtectedMemory was added and removed).
 */
#pragma once

#include "lib/base/macro.h"
#include "probes/accel/cuda_abi.h"

struct nvml_wide_process {
	struct nvml_process process;
	unsigned long long protected_bytes;
};

/*
 * Does the driver of this version ("535.54.03") use the wide form? False if the version is unknown.
 */
bool nvml_process_is_wide(const char *driver);

/* The pid of process `i` in a list filled in at `list`. */
unsigned nvml_process_pid(const void *list, bool wide, unsigned i);
