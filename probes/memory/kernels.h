/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops that move memory, for each instruction set of this architecture.
 *
 * Bytes are counted as in STREAM (McCalpin, stream.c): what the loop reads and writes, not what
 * caches transfer in addition. Non-temporal stores are used where available: a plain store first
 * reads the line, which in a triad is a third more traffic that nobody counts.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum kernel_check { KERNEL_READ, KERNEL_WRITE, KERNEL_COPY, KERNEL_TRIAD, KERNEL_CHECKS };

/* The element count of a call is a multiple of this; arrays are aligned to as many elements. */
enum { KERNEL_GRAIN = 64 };

/* A loop over `n` elements of each array. The result prevents reads from being optimised away. */
typedef uint64_t kernel_loop(double *a, double *b, double *c, size_t n);

struct kernel {
	const char *name;	 /* instruction set: "avx512f" */
	const char *stores;	 /* "temporal" or "nontemporal" */
	bool (*supported)(void); /* by this CPU */
	kernel_loop *loop[KERNEL_CHECKS];
};

/* Bytes counted per element of each check: 24, 24, 16, 24. */
extern const unsigned kernel_element_bytes[KERNEL_CHECKS];

/* All variants in this build, best first; the last one is supported everywhere. */
extern const struct kernel kernels[];
extern const size_t n_kernels;

/* The best variant that this CPU supports. */
const struct kernel *kernel_best(void);

/* Wait until the stores of this thread are globally visible. */
void kernel_fence(void);

/* Write back and evict the cache lines of a range, if the CPU allows that in user mode. */
void kernel_flush(const void *at, size_t bytes);
