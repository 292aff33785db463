/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: memory for many small objects that are freed together, never one by one. Callers bound
 * how much they read into one; like xcalloc() it aborts when out of memory. A zeroed pool is empty.
 */
#pragma once

#include "lib/base/macro.h"

struct pool_block;

struct pool {
	struct pool_block *blocks; /* NULL: nothing allocated yet */
	char *at, *end;		   /* free part of the newest block */
};

/* Zeroed memory of `size` bytes, aligned for any number or pointer; never NULL. */
void *pool_take(struct pool *a, size_t size) MUST_CHECK;

/* `size` bytes, unaligned and not initialised; never NULL. */
char *pool_bytes(struct pool *a, size_t size) MUST_CHECK;

/* A copy of `length` bytes as a string. */
char *pool_text(struct pool *a, const char *bytes, size_t length) MUST_CHECK;

/* Free everything; the pool is then empty. */
void pool_release(struct pool *a);
