/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/core_keep.h"

#include <stddef.h>

bool core_keep(struct core_keep *k)
{
	int own = sched_getcpu();
	cpu_set_t mine;

	k->kept = false;
	if (own < 0 || sched_getaffinity(0, sizeof(k->before), &k->before) < 0)
		return false;
	CPU_ZERO(&mine);
	CPU_SET((size_t)own, &mine);
	k->kept = sched_setaffinity(0, sizeof(mine), &mine) == 0;
	return k->kept;
}

cpu_set_t core_others(const struct core_keep *k)
{
	cpu_set_t others = k->before;
	int own = sched_getcpu();

	if (own >= 0)
		CPU_CLR((size_t)own, &others);
	return others;
}

void core_let_go(struct core_keep *k)
{
	if (k->kept)
		(void)sched_setaffinity(0, sizeof(k->before), &k->before);
	k->kept = false;
}
