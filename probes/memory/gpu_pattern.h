/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the memory of a GPU keep what is written? The pattern of pattern.h and then its complement:
 * the host sends a strip through one pinned buffer, the GPU copies it on from strip to strip until
 * all of its memory holds it, and the host reads the last one back through another buffer. A word
 * that is wrong anywhere is copied on with all that follows, so the last strip has it; halving
 * finds the first that does. Each strip is read when more was written behind it than caches hold.
 * Then a piece of each is read once more, since an address that does not work puts one strip where
 * another was. A fault is tried again with other values and the buffers the other way round.
 *
 * Not seen: two faults that undo each other in the same bit of two strips.
 */
#pragma once

#include "probes/memory/gpu.h"

/* Try memory of the device until about `end_us`, emit memory.pattern. Fails as `emit`. */
int gpu_pattern(struct gpu_device *d, uint64_t end_us);
