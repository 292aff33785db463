/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for many small things that go together: what is taken from a pool
 * is never freed alone. Whoever fills one bounds what it reads; like xcalloc()
 * it aborts when memory is out. A pool of zeroes is empty.
 */
#pragma once

#include "lib/base/macro.h"

struct pool_block;

struct pool {
	struct pool_block *blocks; /* NULL: nothing was taken */
	char *at, *end;		   /* what is left of the newest */
};

/* Zeroed memory of `size` bytes, aligned for any number or pointer; never NULL. */
void *pool_take(struct pool *a, size_t size) MUST_CHECK;

/* Bytes that need no alignment and are not set; never NULL. */
char *pool_bytes(struct pool *a, size_t size) MUST_CHECK;

/* A copy of `length` bytes as a string. */
char *pool_text(struct pool *a, const char *bytes, size_t length) MUST_CHECK;

/* Free all of it; it is empty then. */
void pool_release(struct pool *a);
