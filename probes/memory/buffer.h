/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three arrays in the memory of one NUMA node: mapped, bound to the node before
 * anything touches them, in huge pages when there are, and their place verified
 * afterwards. System calls are made directly, as libnuma would add nothing.
 *
 * Sources: mbind(2), move_pages(2), mmap(2) MAP_HUGETLB, madvise(2)
 * MADV_POPULATE_WRITE (Linux 5.14), Documentation/admin-guide/mm/hugetlbpage.rst.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct numa_node;

enum { BUFFER_ARRAYS = 3, BUFFER_CHECKED_PAGES = 1024 };

/*
 * Between two arrays beyond their size. Arrays a power of two apart share the
 * low bits of their addresses, so that a load waits for an unrelated store.
 */
enum { BUFFER_PAD = 8192 + 1344 };

struct buffer {
	char *mapped; /* owned */
	size_t mapped_bytes;
	double *arrays[BUFFER_ARRAYS]; /* inside; aligned to 64 bytes */
	uint64_t array_bytes;	       /* most that each may hold */
	unsigned node;
	uint64_t huge_bytes; /* page size of MAP_HUGETLB, 0 without */
	uint64_t thp_before; /* huge pages of this process before, bytes */
};

/*
 * Map arrays of `array_bytes` bound to `node`. With `only_node` the host has no
 * other memory, so that a kernel or container without mbind does no harm.
 * -ENOMEM when they cannot be mapped; any other error is about binding (the
 * node is not allowed to this process, EPERM in a container).
 */
int buffer_open(const struct numa_node *node, bool only_node, uint64_t array_bytes,
		struct buffer *ret, struct err *err);

/* Give the pages back. */
void buffer_close(struct buffer *buffer);

/*
 * Check by samples that the first `array_bytes` of each array, which have been
 * touched, lie on the node. -EXDEV when one does not. 0 also when the kernel
 * cannot tell and `only_node`.
 */
int buffer_verify(const struct buffer *buffer, uint64_t array_bytes, bool only_node,
		  struct err *err);

/* What was got, after touching `array_bytes` of each: "4k", "2M" or "1G". */
const char *buffer_pages(const struct buffer *buffer, uint64_t array_bytes);
