/* SPDX-License-Identifier: Apache-2.0 */
/* A call of the driver for a device: in its context, and what came of it. */
#pragma once

#include "probes/accel/cuda.h"

/*
 * Make the device current, in a context that is created when there is none.
 * -ENODEV when there is no such device; else as cuda_check().
 */
int cuda_enter(struct cuda *c, unsigned device, struct err *err);

/*
 * 0 for CUDA_OK, -ECANCELED when nobody waits any more, else the sentence "gpu:GPU-...: what:
 * CUDA_ERROR_... (...)" as -ENODEV when the GPU is lost, -EIO when it failed in mid-work, -ENOMEM,
 * -EBUSY, -ENOTSUP, or -EPROTO for what should not happen.
 */
int cuda_check(struct cuda *c, unsigned device, unsigned result, const char *what, struct err *err);
