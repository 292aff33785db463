/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_func.h"

const char *const ring_func_names[RING_FUNCS] = {
	[RING_OTHER] = "Other",
	[RING_ALL_REDUCE] = "AllReduce",
	[RING_ALL_GATHER] = "AllGather",
	[RING_REDUCE_SCATTER] = "ReduceScatter",
	[RING_BROADCAST] = "Broadcast",
	[RING_REDUCE] = "Reduce",
	[RING_SEND] = "Send",
	[RING_RECV] = "Recv",
	[RING_ALL_TO_ALL] = "AlltoAll",
};

enum ring_func ring_func_find(const char *name)
{
	size_t i;

	for (i = RING_OTHER + 1; i < RING_FUNCS; i++) {
		if (streq(ring_func_names[i], name))
			return (enum ring_func)i;
	}
	return RING_OTHER;
}
