/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the memory of a GPU retain what is written? Uses the pattern of pattern.h and then its
 * complement. The host sends a strip through a pinned buffer, the GPU copies it from strip to strip
 * until it fills the memory, and the host reads the last strip back through another buffer. A wrong
 * word anywhere is copied on with everything else and ends up in the last strip; bisection finds
 * the first strip that has it. Each strip is read only after more has been written behind it than
 * caches hold. Finally a piece of each strip is read again, because a faulty address line makes one
 * strip overwrite another. A fault is retried with other values and with the buffers swapped.
 *
 * Not detected: two faults that cancel each other out in the same bit of two strips.
 */
#pragma once

#include "probes/memory/gpu.h"

/* Test memory of the device until about `end_us` and emit memory.pattern. Fails as `emit`. */
int gpu_pattern(struct gpu_device *d, uint64_t end_us);
