/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a team does with the arrays of a buffer: touch them, and move them by a
 * kernel while counting bytes.
 *
 * Each thread has its own part of every array and goes round it block by block,
 * looking at the clock between blocks, so that nothing overruns however slow
 * the memory is: slow is a low number, not a timeout. A window's rate is the
 * sum of the rates of the threads in it. Where a thread stopped, its next job
 * goes on, so that short jobs too get round all of the memory.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/memory/kernels.h"

struct buffer;
struct team;

enum { RATE_WINDOWS_MIN = 8, RATE_WINDOWS = 16, RATE_WINDOWS_MAX = 32 };

#define RATE_WINDOW_MIN_NS UINT64_C(1000000)
#define RATE_BLOCK_BYTES (UINT64_C(128) * 1024) /* of each array between looks at the clock */

/* The arrays as the threads see them. */
struct arena {
	struct team *team;
	const struct buffer *buffer;
	uint64_t array_bytes; /* in use of each array */
	uint64_t touched;     /* bytes of each array that have been written */
	size_t *at;	      /* place of each thread in its part, elements; owned */
	uint64_t sink;	      /* what kernels returned */
};

void arena_init(struct arena *arena, struct team *team, const struct buffer *buffer);
void arena_release(struct arena *arena);

/* Part of thread `i` of `n` in arrays of `array_bytes`: elements [*first, *end). */
void arena_part(uint64_t array_bytes, size_t i, size_t n, size_t *ret_first, size_t *ret_end);

/*
 * Write the arrays up to `array_bytes` for the first time, all threads at once,
 * until `deadline_us`. -ETIME when it passed before (then nothing counts as
 * touched beyond what was).
 */
int arena_touch(struct arena *arena, uint64_t array_bytes, uint64_t deadline_us);

struct rate {
	double windows[RATE_WINDOWS_MAX]; /* bytes per second */
	size_t n;
	double seconds; /* all windows together */
};

/*
 * Move the arrays by `check` of `kernel` for `us`, in windows of equal length
 * after one that is thrown away. -ETIME when `us` is too short for
 * RATE_WINDOWS_MIN windows.
 */
int rate_measure(struct arena *arena, const struct kernel *kernel, enum kernel_check check,
		 uint64_t us, struct rate *ret);

/*
 * Go once through all of the arrays, then once more counting: the rate of the
 * second round. -ETIME when `deadline_us` passes before its end.
 */
int rate_sweep(struct arena *arena, const struct kernel *kernel, enum kernel_check check,
	       uint64_t deadline_us, double *ret_rate);
