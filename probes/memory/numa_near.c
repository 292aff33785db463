/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/memory/numa.h"

int numa_read_here(struct numa_host *ret, struct err *err)
{
	CLEANUP(closep) int sys_fd = paths_open_sys("/sys/devices/system");
	CLEANUP(cpu_list_release) struct cpu_list allowed = { 0 };
	int r;

	if (sys_fd < 0)
		return err_errno(err, -sys_fd, "%s/sys/devices/system", paths_sysroot());
	r = cpu_list_allowed(&allowed, err);
	return r < 0 ? r : numa_read(sys_fd, &allowed, ret, err);
}

void numa_leave_out_bare(struct numa_host *host)
{
	size_t i;

	for (i = 0; i < host->n; i++) {
		struct numa_node *node = &host->nodes[i];

		if (node->total_bytes == 0 || node->cpus.n > 0)
			continue;
		log_info("numa:%u has memory but no processors, like that of a GPU: it is left "
			 "out",
			 node->id);
		node->total_bytes = 0;
	}
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
