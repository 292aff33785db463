/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops that move memory, for each instruction set of this machine.
 *
 * Bytes are counted as STREAM counts them (McCalpin, stream.c): what the loop
 * reads and writes, not what the caches move besides. Where the machine has
 * stores that go around the caches they are used: a plain store reads the line
 * first, a third more traffic in a triad that nobody counts.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum kernel_check { KERNEL_READ, KERNEL_WRITE, KERNEL_COPY, KERNEL_TRIAD, KERNEL_CHECKS };

/* Elements of a call are a multiple of this; arrays are aligned to as many. */
enum { KERNEL_GRAIN = 64 };

/* A loop over `n` elements of each array. The result keeps reads from being left out. */
typedef uint64_t kernel_loop(double *a, double *b, double *c, size_t n);

struct kernel {
	const char *name;	 /* instruction set: "avx512f" */
	const char *stores;	 /* "temporal" or "nontemporal" */
	bool (*supported)(void); /* by this CPU */
	kernel_loop *loop[KERNEL_CHECKS];
};

/* Bytes that one element of a check counts for: 24, 24, 16, 24. */
extern const unsigned kernel_element_bytes[KERNEL_CHECKS];

/* All that were built, best first; the last is supported everywhere. */
extern const struct kernel kernels[];
extern const size_t n_kernels;

/* The best that this CPU supports. */
const struct kernel *kernel_best(void);

/* Wait until the stores of this thread are in memory or its caches. */
void kernel_fence(void);

/* Write back and drop the cached lines of a range, where the CPU lets a user do so. */
void kernel_flush(const void *at, size_t bytes);
