/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU that is measured: who else uses it, what it needs on both sides, and whether it still works. */
#pragma once

#include "probes/memory/gpu.h"

/* True when nothing speaks against putting work on it. */
bool gpu_live(const struct gpu_device *d);

/* Take the device out, with the words of `err`. */
void gpu_fail(struct gpu_device *d, int r, const struct err *err);

/* Fill `info`, `id`, the nodes of its pages, and who else computes on it. Errors of the engine. */
int gpu_device_find(struct gpu_device *d, struct err *err);

/* Fill `busy`: a copy beside others would hurt them, and be slow. */
void gpu_device_look_for_users(struct gpu_device *d);

/* Queues and memory of the struct gpu_device `device`, in a thread of its own. Errors of the engine. */
int gpu_device_set_up(void *device, struct err *err);
void gpu_device_release(struct gpu_device *d);

/* Of one copy within it. */
uint64_t gpu_device_own_bytes(const struct gpu_device *d);
