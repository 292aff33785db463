/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/membind.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MASK_BITS = 8 * sizeof(unsigned long) };

int membind(void *at, size_t bytes, unsigned node)
{
	unsigned long mask[(MEMBIND_NODE_MAX + 1) / MASK_BITS] = { 0 };

	if (node > MEMBIND_NODE_MAX)
		return -EINVAL;
	mask[node / MASK_BITS] = 1UL << node % MASK_BITS;
	/* The kernel subtracts one from the number of bits. */
	return syscall(SYS_mbind, at, bytes, MPOL_BIND, mask, MEMBIND_NODE_MAX + 2, 0) < 0 ? -errno
											   : 0;
}
