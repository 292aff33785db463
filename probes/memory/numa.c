/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/numa.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum {
	LIST_TEXT_MAX = 64 * 1024,
	MEMINFO_MAX = 64 * 1024,
	PATH_SIZE = 128,
	CACHES_MAX = 16, /* cache indices of one CPU */
};

#define HUGE_2M (UINT64_C(2) << 20)
#define HUGE_1G (UINT64_C(1) << 30)

void cpu_list_release(struct cpu_list *list)
{
	free(list->v);
	*list = (struct cpu_list){ 0 };
}

bool cpu_list_has(const struct cpu_list *list, unsigned cpu)
{
	size_t i;

	for (i = 0; i < list->n && list->v[i] <= cpu; i++)
		if (list->v[i] == cpu)
			return true;
	return false;
}

static void add_cpu(struct cpu_list *list, unsigned cpu)
{
	if (list->n % 64 == 0)
		list->v = xrealloc(list->v, list->n + 64, sizeof(*list->v));
	list->v[list->n++] = cpu;
}

/* Parse an integer below NUMA_CPUS_MAX at `*at` and advance past it. */
static int read_number(const char **at, unsigned *ret)
{
	char *end = NULL;
	unsigned long value;

	if (**at < '0' || **at > '9')
		return -EINVAL;
	value = strtoul(*at, &end, 10);
	if (value >= NUMA_CPUS_MAX)
		return -EINVAL;
	*at = end;
	*ret = (unsigned)value;
	return 0;
}

/* Parse "8" or "10-11", starting at `least` or later. */
static int read_range(const char **at, unsigned least, struct cpu_list *list)
{
	unsigned first, last;

	if (read_number(at, &first) < 0)
		return -EINVAL;
	last = first;
	if (**at == '-') {
		(*at)++;
		if (read_number(at, &last) < 0)
			return -EINVAL;
	}
	if (last < first || first < least)
		return -EINVAL;
	for (; first <= last; first++)
		add_cpu(list, first);
	return 0;
}

int cpu_list_parse(const char *text, struct cpu_list *ret)
{
	CLEANUP(cpu_list_release) struct cpu_list list = { 0 };
	const char *at = text;

	while (*at && *at != '\n') {
		unsigned least = list.n ? list.v[list.n - 1] + 1 : 0;

		if (read_range(&at, least, &list) < 0)
			return -EINVAL;
		if (*at == ',' && at[1] != '\0')
			at++;
		else if (*at && *at != '\n')
			return -EINVAL;
	}
	*ret = list;
	list = (struct cpu_list){ 0 };
	return 0;
}

int cpu_list_allowed(struct cpu_list *ret, struct err *err)
{
	size_t size = CPU_ALLOC_SIZE(NUMA_CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(NUMA_CPUS_MAX);
	struct cpu_list list = { 0 };
	unsigned cpu;

	if (!set)
		return err_set(err, ENOMEM, "no memory for a set of CPUs");
	if (sched_getaffinity(0, size, set) < 0) {
		CPU_FREE(set);
		return err_errno(err, errno, "affinity of this process");
	}
	for (cpu = 0; cpu < NUMA_CPUS_MAX; cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			add_cpu(&list, cpu);
	CPU_FREE(set);
	*ret = list;
	return 0;
}

/* Read a file with a CPU list; -ENOENT if it does not exist. */
static int read_list(int sys_fd, const char *path, struct cpu_list *ret, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	int r = file_read(sys_fd, path, LIST_TEXT_MAX, &text, NULL, err);

	if (r == 0 && cpu_list_parse(text, ret) < 0)
		r = err_set(err, EINVAL, "%s: not a list of numbers such as 0-3,8", path);
	return r;
}

/* "Node 0 MemFree:   123 kB" (of a node) or "MemFree:  123 kB" (of the host), in bytes. */
static uint64_t meminfo_bytes(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

static int read_meminfo(int sys_fd, struct numa_node *node, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	char path[PATH_SIZE];
	int r;

	(void)snprintf(path, sizeof(path), "node/node%u/meminfo", node->id);
	r = file_read(sys_fd, path, MEMINFO_MAX, &text, NULL, err);
	if (r < 0)
		return r;
	node->total_bytes = meminfo_bytes(text, " MemTotal:");
	node->free_bytes = meminfo_bytes(text, " MemFree:");
	return 0;
}

/* Bytes in free huge pages of `size`. */
static uint64_t free_huge(int sys_fd, unsigned node, uint64_t size)
{
	char path[PATH_SIZE];
	long long n = 0;

	(void)snprintf(path, sizeof(path), "node/node%u/hugepages/hugepages-%" PRIu64 "kB/%s", node,
		       size / 1024, "free_hugepages");
	if (file_read_i64(sys_fd, path, &n) < 0 || n < 0 || (uint64_t)n > UINT64_MAX / size)
		return 0;
	return (uint64_t)n * size;
}

/* The first usable hardware thread stands for a physical core. */
static void pick_cores(int sys_fd, const struct cpu_list *allowed, struct numa_node *node)
{
	size_t i, k;

	for (i = 0; i < node->cpus.n; i++) {
		CLEANUP(cpu_list_release) struct cpu_list siblings = { 0 };
		unsigned cpu = node->cpus.v[i];
		bool taken = false;
		char path[PATH_SIZE];

		if (!cpu_list_has(allowed, cpu))
			continue;
		(void)snprintf(path, sizeof(path), "cpu/cpu%u/topology/thread_siblings_list", cpu);
		(void)read_list(sys_fd, path, &siblings, NULL);
		for (k = 0; k < siblings.n && !taken; k++)
			taken = cpu_list_has(&node->cores, siblings.v[k]);
		if (!taken)
			add_cpu(&node->cores, cpu);
	}
}

/* Convert "36608K" or "32M" to bytes; 0 if malformed. */
static uint64_t cache_size(const char *text)
{
	char *end = NULL;
	uint64_t value = strtoull(text, &end, 10);

	if (end == text || value > UINT32_MAX)
		return 0;
	if (*end == 'K')
		return value << 10;
	return *end == 'M' ? value << 20 : value;
}

/*
 * The size of the outermost cache of a CPU. 0 unless `cpu` is the first of `cores` that share it,
 * so that a shared cache counts only once.
 */
static uint64_t llc_of(int sys_fd, unsigned cpu, const struct cpu_list *cores)
{
	CLEANUP(cpu_list_release) struct cpu_list shared = { 0 };
	CLEANUP(freep) char *size = NULL;
	char path[PATH_SIZE];
	long long level, best = 0;
	int index = -1, i;
	size_t k;

	for (i = 0; i < CACHES_MAX; i++) {
		(void)snprintf(path, sizeof(path), "cpu/cpu%u/cache/index%d/level", cpu, i);
		if (file_read_i64(sys_fd, path, &level) < 0)
			break;
		if (level >= best) {
			best = level;
			index = i;
		}
	}
	(void)snprintf(path, sizeof(path), "cpu/cpu%u/cache/index%d/size", cpu, index);
	if (index < 0 || file_read_line(sys_fd, path, &size) < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "cpu/cpu%u/cache/index%d/shared_cpu_list", cpu, index);
	(void)read_list(sys_fd, path, &shared, NULL);
	for (k = 0; k < shared.n; k++)
		if (shared.v[k] < cpu && cpu_list_has(cores, shared.v[k]))
			return 0;
	return cache_size(size);
}

static void sum_caches(int sys_fd, struct numa_node *node)
{
	size_t i;

	for (i = 0; i < node->cores.n; i++)
		node->llc_bytes += llc_of(sys_fd, node->cores.v[i], &node->cores);
}

static void node_release(struct numa_node *node)
{
	cpu_list_release(&node->cpus);
	cpu_list_release(&node->cores);
}

static int read_node(int sys_fd, unsigned id, const struct cpu_list *allowed, struct numa_node *ret,
		     struct err *err)
{
	struct numa_node node = { .id = id };
	char path[PATH_SIZE];
	int r;

	(void)snprintf(path, sizeof(path), "node/node%u/cpulist", id);
	r = read_list(sys_fd, path, &node.cpus, err);
	if (r == 0)
		r = read_meminfo(sys_fd, &node, err);
	if (r < 0) {
		node_release(&node);
		return r;
	}
	node.free_huge_2m = free_huge(sys_fd, id, HUGE_2M);
	node.free_huge_1g = free_huge(sys_fd, id, HUGE_1G);
	pick_cores(sys_fd, allowed, &node);
	sum_caches(sys_fd, &node);
	*ret = node;
	return 0;
}

/* A kernel without NUMA: one node with all CPUs and all memory. */
static void read_flat(int sys_fd, const struct cpu_list *allowed, struct numa_host *host)
{
	const long page = sysconf(_SC_PAGESIZE);
	struct numa_node *node;
	size_t i;

	host->nodes = xcalloc(1, sizeof(*host->nodes));
	host->n = 1;
	node = host->nodes;
	for (i = 0; i < allowed->n; i++)
		add_cpu(&node->cpus, allowed->v[i]);
	node->total_bytes = (uint64_t)MAX(0L, sysconf(_SC_PHYS_PAGES)) * (uint64_t)page;
	node->free_bytes = (uint64_t)MAX(0L, sysconf(_SC_AVPHYS_PAGES)) * (uint64_t)page;
	pick_cores(sys_fd, allowed, node);
	sum_caches(sys_fd, node);
}

static int read_nodes(int sys_fd, const struct cpu_list *ids, const struct cpu_list *allowed,
		      struct numa_host *host, struct err *err)
{
	size_t i;

	host->nodes = xcalloc(NUMA_NODES_MAX, sizeof(*host->nodes));
	for (i = 0; i < ids->n; i++) {
		int r;

		if (ids->v[i] > NUMA_NODE_ID_MAX)
			return err_set(err, EINVAL, "node/online: %u is not a valid node",
				       ids->v[i]);
		if (host->n == NUMA_NODES_MAX) {
			host->more = true;
			break;
		}
		r = read_node(sys_fd, ids->v[i], allowed, &host->nodes[host->n], err);
		if (r < 0)
			return r;
		host->n++;
	}
	return 0;
}

/* Read all nodes, or the single one of a kernel without NUMA. */
static int read_all(int sys_fd, const struct cpu_list *allowed, struct numa_host *host,
		    struct err *err)
{
	CLEANUP(cpu_list_release) struct cpu_list ids = { 0 };
	struct err why = ERR_INIT;
	int r = read_list(sys_fd, "node/online", &ids, &why);

	if (r == -ENOENT) {
		read_flat(sys_fd, allowed, host);
		return 0;
	}
	if (r < 0)
		return err_set(err, -r, "%s", why.msg);
	return read_nodes(sys_fd, &ids, allowed, host, err);
}

int numa_read(int sys_fd, const struct cpu_list *allowed, struct numa_host *ret, struct err *err)
{
	CLEANUP(numa_host_release) struct numa_host host = { 0 };
	bool cores = false, memory = false;
	size_t i;
	int r = read_all(sys_fd, allowed, &host, err);

	if (r < 0)
		return err_wrap(err, r, "/sys/devices/system");
	for (i = 0; i < host.n; i++) {
		cores = cores || host.nodes[i].cpus.n;
		memory = memory || host.nodes[i].total_bytes;
	}
	if (!cores || !memory)
		return err_set(err, ENODEV, "/sys/devices/system/node: no node has %s",
			       cores ? "memory" : "CPUs");
	*ret = host;
	host = (struct numa_host){ 0 };
	return 0;
}

void numa_host_release(struct numa_host *host)
{
	size_t i;

	for (i = 0; i < host->n; i++)
		node_release(&host->nodes[i]);
	free(host->nodes);
	*host = (struct numa_host){ 0 };
}

bool numa_caches_are_real(const char *cpuinfo)
{
	return cpuinfo && !strstr(cpuinfo, " hypervisor");
}

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
