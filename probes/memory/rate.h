/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a team does with the arrays of a buffer: touch them, and move them with a kernel while
 * counting bytes.
 *
 * Each thread goes round its own part of every array block by block and reads the clock between
 * blocks, so nothing overruns: slow memory gives a low value, not a timeout. The rate of a window
 * is the sum of the threads' rates in it. A thread's next job continues where it stopped, so that
 * even short jobs eventually cover all of the memory.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/memory/kernels.h"

struct buffer;
struct team;

enum { RATE_WINDOWS_MIN = 8, RATE_WINDOWS = 16, RATE_WINDOWS_MAX = 32 };

#define RATE_WINDOW_MIN_NS UINT64_C(1000000)
#define RATE_BLOCK_BYTES (UINT64_C(128) * 1024) /* of each array between clock readings */

/* The arrays as used by the threads. */
struct arena {
	struct team *team;
	const struct buffer *buffer;
	uint64_t array_bytes; /* used part of each array */
	uint64_t touched;     /* bytes of each array written so far */
	size_t *at;	      /* position of each thread in its part, elements; owned */
	uint64_t sink;	      /* collects the results of kernels */
};

void arena_init(struct arena *arena, struct team *team, const struct buffer *buffer);
void arena_release(struct arena *arena);

/* The part of thread `i` of `n` in arrays of `array_bytes`: elements [*first, *end). */
void arena_part(uint64_t array_bytes, size_t i, size_t n, size_t *ret_first, size_t *ret_end);

/*
 * Write the arrays for the first time, up to `array_bytes`, with all threads, until `deadline_us`.
 * -ETIME if that passed first; `touched` is then unchanged.
 */
int arena_touch(struct arena *arena, uint64_t array_bytes, uint64_t deadline_us);

struct rate {
	double windows[RATE_WINDOWS_MAX]; /* bytes per second */
	size_t n;
	double seconds; /* of all windows together */
};

/*
 * Run `check` of `kernel` over the arrays for `us`, in windows of equal length after one that is
 * discarded. -ETIME if `us` is too short for RATE_WINDOWS_MIN windows.
 */
int rate_measure(struct arena *arena, const struct kernel *kernel, enum kernel_check check,
		 uint64_t us, struct rate *ret);

/*
 * Go through the arrays once, then again while counting; returns the rate of the second round.
 * -ETIME if `deadline_us` passes first.
 */
int rate_sweep(struct arena *arena, const struct kernel *kernel, enum kernel_check check,
	       uint64_t deadline_us, double *ret_rate);
