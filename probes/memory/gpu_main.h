/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of a host for the memory probe: start their driver, and measure until the deadline. */
#pragma once

#include <stdint.h>

struct accel;
struct err;
struct probe;

/*
 * Start the driver within `part` of the probe's budget; from then on the process ends without
 * closing it. -ENOTSUP when it cannot be used, -ETIMEDOUT when it has not come back by then.
 */
int gpu_start(const struct probe *probe, double part, struct accel **ret, struct err *err);

/*
 * gpu_run() for a probe, until its deadline, in a thread of its own, since a driver's call may not
 * come back: then it is -ETIMEDOUT, with a sample of the GPU that was asked last.
 */
int gpu_probe(struct probe *probe, struct accel *accel, uint64_t copy_bytes, struct err *err);
