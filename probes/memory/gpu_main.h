/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of a host in the memory probe: start their driver and measure until the deadline. */
#pragma once

#include <stdint.h>

struct accel;
struct err;
struct probe;

/*
 * Start the driver within `part` of the probe's budget. From then on the process exits without
 * closing it. -ENOTSUP if it cannot be used, -ETIMEDOUT if the call has not returned by then.
 */
int gpu_start(const struct probe *probe, double part, struct accel **ret, struct err *err);

/*
 * Run gpu_run() until the probe's deadline, in a thread of its own because driver calls may hang.
 * If one does, returns -ETIMEDOUT after emitting a sample of the GPU queried last.
 */
int gpu_probe(struct probe *probe, struct accel *accel, uint64_t copy_bytes, struct err *err);
