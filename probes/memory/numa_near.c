/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "lib/base/log.h"
#include "probes/memory/numa.h"

size_t numa_leave_out_bare(struct numa_host *host)
{
	size_t n = 0, i;

	for (i = 0; i < host->n; i++) {
		struct numa_node *node = &host->nodes[i];

		if (node->total_bytes == 0 || node->cpus.n > 0)
			continue;
		log_info("numa:%u has memory and no processors, as that of a GPU has: it is left "
			 "out",
			 node->id);
		node->total_bytes = 0;
		n++;
	}
	return n;
}

void numa_go_near(const struct numa_host *host, int node)
{
	cpu_set_t set;
	size_t i, j;

	CPU_ZERO(&set);
	for (i = 0; host && i < host->n; i++) {
		const struct numa_node *at = &host->nodes[i];

		for (j = 0; (int)at->id == node && j < at->cores.n; j++) {
			if (at->cores.v[j] < CPU_SETSIZE)
				CPU_SET(at->cores.v[j], &set);
		}
	}
	if (CPU_COUNT(&set) > 1)
		CPU_CLR(0, &set);
	if (CPU_COUNT(&set) > 0)
		(void)sched_setaffinity(0, sizeof(set), &set);
}
