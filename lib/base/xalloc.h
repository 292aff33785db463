/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small allocations of sizes that we choose. They abort when out of memory (state is on disk, and
 * systemd restarts us). Never use them for sizes that come from input, files, the network or a
 * device: those are bounded and checked.
 */
#pragma once

#include <stdarg.h>
#include <stdlib.h>

#include "lib/base/macro.h"

/* Zeroed memory for `n` objects of `size` bytes; never NULL. */
void *xcalloc(size_t n, size_t size) MUST_CHECK;

/* Grow `ptr` to `n` objects of `size` bytes; never NULL. New bytes are not set. */
void *xrealloc(void *ptr, size_t n, size_t size) MUST_CHECK;

/* A copy of `text`; NULL for NULL. */
char *xstrdup(const char *text) MUST_CHECK;

/* A string of at most `n` bytes of `text`. */
char *xstrndup(const char *text, size_t n) MUST_CHECK;

/* A copy of `n` bytes, which may include NULs, with a NUL appended. */
char *xalloc_copy(const void *bytes, size_t n) MUST_CHECK;

/* printf into new memory, never NULL. */
char *xasprintf(const char *fmt, ...) PRINTF(1, 2) MUST_CHECK;

/* For CLEANUP(): free a malloc'ed pointer of any type. */
static inline void freep(void *p)
{
	void *ptr;

	memcpy(&ptr, p, sizeof(ptr));
	free(ptr);
}
