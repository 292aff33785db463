/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the memory of a GPU keep what is written? The pattern of pattern.h and its
 * complement are sent through one pinned buffer and read back through another,
 * strip by strip: what is read has left the caches of the GPU. What is wrong is
 * tried again with other values and the buffers the other way round.
 */
#pragma once

#include "probes/memory/gpu.h"

/* Try memory of the device until about `end_us`, emit memory.pattern. Fails as `emit`. */
int gpu_pattern(struct gpu_device *d, uint64_t end_us);
