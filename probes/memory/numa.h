/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NUMA nodes of this host: which cores they have that this process may
 * use, how much memory is free there, how large their last-level caches are.
 *
 * Read from /sys/devices/system under the sysroot (`sys_fd` is a descriptor of
 * /sys/devices/system, so that tests hand in a fake tree) and cut to our own
 * affinity. A kernel without NUMA has no node directory: then all is node 0.
 *
 * Files: Documentation/ABI/stable/sysfs-devices-node and
 * Documentation/ABI/stable/sysfs-devices-system-cpu.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	NUMA_NODES_MAX = 28,	 /* more are left out: 28 x 28 pairs x 5 checks fill a report */
	NUMA_CPUS_MAX = 8192,	 /* NR_CPUS of the largest distribution kernels */
	NUMA_NODE_ID_MAX = 1023, /* MAX_NUMNODES of the kernel, less one */
};

/* CPU numbers, ascending. */
struct cpu_list {
	unsigned *v; /* owned */
	size_t n;
};

struct numa_node {
	unsigned id;
	struct cpu_list cpus;  /* all logical CPUs of the node */
	struct cpu_list cores; /* of those we may use, the first of each physical core */
	uint64_t total_bytes;  /* of memory; 0: a node without memory */
	uint64_t free_bytes;   /* MemFree */
	uint64_t free_huge_2m; /* bytes in free huge pages of 2 MiB, 0 without */
	uint64_t free_huge_1g; /* the same of 1 GiB */
	uint64_t llc_bytes;    /* all last-level caches that its cores use; 0 unknown */
};

struct numa_host {
	struct numa_node *nodes; /* by id; owned */
	size_t n;
	bool more; /* the host has more nodes than NUMA_NODES_MAX */
};

/*
 * Read "0-3,8,10-11" into `ret` (release it with cpu_list_release()); an empty
 * text is an empty list. -EINVAL for anything else, a range that runs
 * backwards, and numbers from NUMA_CPUS_MAX on.
 */
int cpu_list_parse(const char *text, struct cpu_list *ret);
void cpu_list_release(struct cpu_list *list);
bool cpu_list_has(const struct cpu_list *list, unsigned cpu);

/* The CPUs this process may use. */
int cpu_list_allowed(struct cpu_list *ret, struct err *err);

/*
 * Fill `ret` (release it with numa_host_release()). -ENODEV when no node has
 * both a core and memory described, -EINVAL when a file cannot be understood,
 * with its name.
 */
int numa_read(int sys_fd, const struct cpu_list *allowed, struct numa_host *ret, struct err *err);
/* The same of this host (of the sysroot) and the CPUs that this process may use. */
int numa_read_here(struct numa_host *ret, struct err *err);
void numa_host_release(struct numa_host *host);

/*
 * Take the memory of nodes that have no processors as none of the host (`total_bytes` becomes 0),
 * and say so in one sentence: there it is that of a GPU (GH200, GB200), an expander or a module
 * beside the processors (CXL, HBM of Xeon Max), and no end of a path between the host and a device.
 */
void numa_leave_out_bare(struct numa_host *host);

/*
 * From now on this thread runs on the cores of a node, but the first core of the host, which
 * takes the interrupts of many. Nothing changes for a node that has no other (-1: unknown).
 * `host` may be NULL.
 */
void numa_go_near(const struct numa_host *host, int node);

/*
 * True when the cache sizes that the kernel gives are those of the machine: a
 * hypervisor may show any. `cpuinfo` is the text of /proc/cpuinfo, or NULL.
 */
bool numa_caches_are_real(const char *cpuinfo);
