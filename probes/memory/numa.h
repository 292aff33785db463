/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NUMA nodes of this host: the cores that this process may use, free memory, and the size of
 * the last-level caches.
 *
 * Read from /sys/devices/system under the sysroot (`sys_fd` is a descriptor of that directory, so
 * that tests can pass a fake tree) and limited to our CPU affinity. A kernel without NUMA has no
 * node directory; everything is then node 0.
 *
 * Files: Documentation/ABI/stable/sysfs-devices-node and
 * Documentation/ABI/stable/sysfs-devices-system-cpu.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	NUMA_NODES_MAX = 28,	 /* 28 x 28 pairs x 5 checks fill a report; others are ignored */
	NUMA_CPUS_MAX = 8192,	 /* NR_CPUS of the largest distribution kernels */
	NUMA_NODE_ID_MAX = 1023, /* MAX_NUMNODES of the kernel, minus one */
};

/* CPU numbers, ascending. */
struct cpu_list {
	unsigned *v; /* owned */
	size_t n;
};

struct numa_node {
	unsigned id;
	struct cpu_list cpus;  /* all logical CPUs of the node */
	struct cpu_list cores; /* the first usable CPU of each physical core */
	uint64_t total_bytes;  /* memory; 0: a node without memory */
	uint64_t free_bytes;   /* MemFree */
	uint64_t free_huge_2m; /* bytes in free huge pages of 2 MiB */
	uint64_t free_huge_1g; /* the same for 1 GiB */
	uint64_t llc_bytes;    /* all last-level caches of its cores; 0: unknown */
};

struct numa_host {
	struct numa_node *nodes; /* by id; owned */
	size_t n;
	bool more; /* the host has more nodes than NUMA_NODES_MAX */
};

/*
 * Parse "0-3,8,10-11" into `ret` (free it with cpu_list_release()); an empty text is an empty list.
 * -EINVAL if malformed, for a descending range, or for a number of NUMA_CPUS_MAX or more.
 */
int cpu_list_parse(const char *text, struct cpu_list *ret);
void cpu_list_release(struct cpu_list *list);
bool cpu_list_has(const struct cpu_list *list, unsigned cpu);

/* The CPUs in the affinity of this process. */
int cpu_list_allowed(struct cpu_list *ret, struct err *err);

/*
 * Read the nodes into `ret` (free it with numa_host_release()). -ENODEV if no node has both a core
 * and memory; -EINVAL, naming the file, if one cannot be parsed.
 */
int numa_read(int sys_fd, const struct cpu_list *allowed, struct numa_host *ret, struct err *err);
/* The same for this host (in the sysroot) and this process's affinity. */
int numa_read_here(struct numa_host *ret, struct err *err);
void numa_host_release(struct numa_host *host);

/*
 * Ignore the memory of nodes without processors (set `total_bytes` to 0), and log that in one
 * sentence. Such memory belongs to a GPU (GH200, GB200), an expander or a module next to the
 * processors (CXL, HBM of Xeon Max); it is not an end of a path between the host and a device.
 */
void numa_leave_out_bare(struct numa_host *host);

/*
 * Move this thread to the cores of a node, except the first core of the host, which handles many
 * interrupts. Does nothing if the node has no other core or is -1 (unknown). `host` may be NULL.
 */
void numa_go_near(const struct numa_host *host, int node);

/*
 * Are the cache sizes reported by the kernel those of the real machine? A hypervisor may report
 * anything. `cpuinfo` is the text of /proc/cpuinfo, or NULL.
 */
bool numa_caches_are_real(const char *cpuinfo);
