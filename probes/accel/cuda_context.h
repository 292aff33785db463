/* SPDX-License-Identifier: Apache-2.0 */
/* Calling the driver for a device: in its context, and checking the result. */
#pragma once

#include "probes/accel/cuda.h"

/*
 * Make the device current, creating its context if there is none. -ENODEV if there is no such
 * device; otherwise as cuda_check().
 */
int cuda_enter(struct cuda *c, unsigned device, struct err *err);

/*
 * Returns 0 for CUDA_OK, and -ECANCELED if nobody waits any more. Otherwise the message is
 * "gpu:GPU-...: what: CUDA_ERROR_... (...)" and the error is -ENODEV if the GPU is lost, -EIO if it
 * failed during work, -ENOMEM, -EBUSY, -ENOTSUP, or -EPROTO for unexpected results.
 */
int cuda_check(struct cuda *c, unsigned device, unsigned result, const char *what, struct err *err);
