/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/host_topology.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/accel/host.h"

#define SET_SIZE CPU_ALLOC_SIZE(HOST_CPUS_MAX)

/* Parse "0-3,8,10-11" (the kernel's cpulist format) into `set`; false if malformed. */
static bool parse_cpulist(const char *text, cpu_set_t *set)
{
	const char *at = text;

	CPU_ZERO_S(SET_SIZE, set);
	while (*at) {
		char *end = NULL;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (end == at)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last >= HOST_CPUS_MAX || (*end && *end != ','))
			return false;
		for (; first <= last; first++)
			CPU_SET_S(first, SET_SIZE, set);
		at = *end ? end + 1 : end;
	}
	return CPU_COUNT_S(SET_SIZE, set) > 0;
}

/* All logical CPUs of the core of `cpu`; only itself if sysfs does not tell. */
static void read_group(int cpus_fd, unsigned cpu, cpu_set_t *ret)
{
	/* core_cpus_list since Linux 5.3, thread_siblings_list before. */
	static const char *const names[] = { "core_cpus_list", "thread_siblings_list" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(freep) char *path = xasprintf("cpu%u/topology/%s", cpu, names[i]);
		CLEANUP(freep) char *text = NULL;

		if (file_read_line(cpus_fd, path, &text) == 0 && parse_cpulist(text, ret) &&
		    CPU_ISSET_S(cpu, SET_SIZE, ret))
			return;
	}
	CPU_ZERO_S(SET_SIZE, ret);
	CPU_SET_S(cpu, SET_SIZE, ret);
}

/* cpuN/nodeM is a link to the NUMA node of the CPU. */
static int read_numa(int cpus_fd, unsigned cpu)
{
	CLEANUP(freep) char *path = xasprintf("cpu%u", cpu);
	int fd = openat(cpus_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;
	int numa = -1;
	DIR *dir;

	if (fd < 0)
		return -1;
	dir = fdopendir(fd);
	if (!dir) {
		(void)close(fd);
		return -1;
	}
	while (numa < 0 && (entry = readdir(dir))) {
		char *end = NULL;
		long n;

		if (!starts_with(entry->d_name, "node"))
			continue;
		n = strtol(entry->d_name + 4, &end, 10);
		if (end != entry->d_name + 4 && !*end && n >= 0 && n < HOST_CPUS_MAX)
			numa = (int)n;
	}
	(void)closedir(dir);
	return numa;
}

bool host_core_has(const struct host_core *core, unsigned cpu)
{
	return CPU_ISSET_S(cpu, SET_SIZE, core->group);
}

static bool in_known_core(const struct host *h, unsigned cpu)
{
	unsigned i;

	for (i = 0; i < h->n_cores; i++) {
		if (host_core_has(&h->cores[i], cpu))
			return true;
	}
	return false;
}

static int add_core(struct host *h, int cpus_fd, unsigned cpu)
{
	struct host_core *core;

	if (h->n_cores == HOST_CORES_MAX)
		return 0;
	core = &h->cores[h->n_cores];
	core->group = CPU_ALLOC(HOST_CPUS_MAX);
	if (!core->group)
		return -ENOMEM;
	h->n_cores++;
	core->cpu = cpu;
	core->answered = true;
	read_group(cpus_fd, cpu, core->group);
	core->numa = read_numa(cpus_fd, cpu);
	return 0;
}

static void cpu_set_freep(cpu_set_t **set)
{
	CPU_FREE(*set);
}

int host_find_cores(struct host *h, struct err *err)
{
	CLEANUP(closep) int fd = paths_open_sys("/sys/devices/system/cpu");
	CLEANUP(cpu_set_freep) cpu_set_t *mine = CPU_ALLOC(HOST_CPUS_MAX);
	unsigned cpu;

	h->cores = xcalloc(HOST_CORES_MAX, sizeof(*h->cores));
	if (!mine || sched_getaffinity(0, SET_SIZE, mine) < 0)
		return err_errno(err, errno, "cannot tell which CPUs this process may use");
	for (cpu = 0; cpu < HOST_CPUS_MAX; cpu++) {
		if (!CPU_ISSET_S(cpu, SET_SIZE, mine) || in_known_core(h, cpu))
			continue;
		if (add_core(h, fd, cpu) < 0)
			return err_set(err, ENOMEM, "no memory for core %u", cpu);
	}
	return h->n_cores ? 0 : err_set(err, ENODEV, "there is no CPU that this process may use");
}

void host_free_cores(struct host *h)
{
	unsigned i;

	for (i = 0; i < h->n_cores; i++)
		CPU_FREE(h->cores[i].group);
	free(h->cores);
}
