/* SPDX-License-Identifier: Apache-2.0 */
/* All GPUs of an engine, one job after the other. */
#pragma once

struct err;
struct gpu_plan;

/*
 * Measure and emit for all GPUs of the engine; a GPU that hangs, fails or is in
 * use is a sample. -ENODEV without any; else what `emit` returned.
 */
int gpu_run(struct gpu_plan *plan, struct err *err);
