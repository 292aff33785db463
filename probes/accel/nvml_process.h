/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of processes as NVML fills them. Drivers 535.43 to 535.86 fill nvmlProcessInfo_v3_t with a
 * member more than all before and after them: read as the others fill it, every second number
 * of a process would be nonsense, and the GPU in use by nobody knows whom. Pure.
 *
 * Source: nvml.h of CUDA 12.2 and of 12.3 (usedGpuCcProtectedMemory came and went).
 */
#pragma once

#include "lib/base/macro.h"
#include "probes/accel/cuda_abi.h"

struct nvml_wide_process {
	struct nvml_process process;
	unsigned long long protected_bytes;
};

/* Does the driver of this version ("535.54.03") fill the wide form? Not known is no. */
bool nvml_process_is_wide(const char *driver);

/* The number of process `i` of a list that was filled at `list`. */
unsigned nvml_process_pid(const void *list, bool wide, unsigned i);
