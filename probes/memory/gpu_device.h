/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU to be measured: who else uses it, its resources on both sides, and whether it still works.
 */
#pragma once

#include "probes/memory/gpu.h"

/* Can work be put on it? */
bool gpu_live(const struct gpu_device *d);

/* Exclude the device, with the message of `err`. */
void gpu_fail(struct gpu_device *d, int r, const struct err *err);

/* Fill in `info`, `id`, the nodes of its pages, and other users. Errors of the engine. */
int gpu_device_find(struct gpu_device *d, struct err *err);

/* Fill in `busy`: copies would disturb others' work on the GPU, and be slow. */
void gpu_device_look_for_users(struct gpu_device *d);

/*
 * Create the queues and memory of the struct gpu_device `device`; runs in a thread of its own.
 * Errors of the engine.
 */
int gpu_device_set_up(void *device, struct err *err);
void gpu_device_release(struct gpu_device *d);

/* Bytes of a copy within the GPU. */
uint64_t gpu_device_own_bytes(const struct gpu_device *d);
