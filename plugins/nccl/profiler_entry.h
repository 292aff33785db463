/* SPDX-License-Identifier: Apache-2.0 */
/* What the library exports: the objects that NCCL looks for by name, newest first. */
#pragma once

#include "plugins/nccl/profiler_api.h"

extern struct profiler_v3 ncclProfiler_v3;
extern struct profiler_v4 ncclProfiler_v4;
extern struct profiler_v5 ncclProfiler_v5, ncclProfiler_v6;
