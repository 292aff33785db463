/* SPDX-License-Identifier: Apache-2.0 */
/* Measures all GPUs of an engine, one job after the other. */
#pragma once

struct err;
struct gpu_plan;

/*
 * Measure and emit for all GPUs of the engine. A GPU that hangs, fails or is in use is a sample.
 * -ENODEV if there is none, otherwise what `emit` returned.
 */
int gpu_run(struct gpu_plan *plan, struct err *err);
