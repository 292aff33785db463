/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three arrays in the memory of one NUMA node: mapped, bound to the node before they are touched,
 * in huge pages if available, and their placement verified afterwards. System calls are made
 * directly; libnuma would add nothing.
 *
 * Sources: mbind(2), move_pages(2), mmap(2) MAP_HUGETLB, madvise(2) MADV_POPULATE_WRITE (Linux
 * 5.14), Documentation/admin-guide/mm/hugetlbpage.rst.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct numa_node;

enum { BUFFER_ARRAYS = 3, BUFFER_CHECKED_PAGES = 1024 };

/*
 * Extra distance between two arrays. Arrays a power of two apart share the low bits of their
 * addresses, so that a load would wait for an unrelated store.
 */
enum { BUFFER_PAD = 8192 + 1344 };

struct buffer {
	char *mapped; /* owned */
	size_t mapped_bytes;
	double *arrays[BUFFER_ARRAYS]; /* within the mapping; aligned to 64 bytes */
	uint64_t array_bytes;	       /* capacity of each */
	unsigned node;
	uint64_t huge_bytes; /* page size of MAP_HUGETLB, 0: not used */
	uint64_t thp_before; /* transparent huge pages of this process before, bytes */
};

/*
 * Map arrays of `array_bytes` bound to `node`. `only_node` says that the host has no other memory,
 * so it does not matter if the kernel or container has no mbind. -ENOMEM if they cannot be mapped;
 * any other error is about binding (the node is not allowed for this process, or EPERM in a
 * container).
 */
int buffer_open(const struct numa_node *node, bool only_node, uint64_t array_bytes,
		struct buffer *ret, struct err *err);

/* Unmap the arrays. */
void buffer_close(struct buffer *buffer);

/*
 * Verify by sampling that the first `array_bytes` of each array, which must have been touched, are
 * on the node. -EXDEV if any page is not. Also returns 0 if the kernel cannot tell and `only_node`
 * is set.
 */
int buffer_verify(const struct buffer *buffer, uint64_t array_bytes, bool only_node,
		  struct err *err);

/* The page size obtained, after touching `array_bytes` of each array: "4k", "2M" or "1G". */
const char *buffer_pages(const struct buffer *buffer, uint64_t array_bytes);
