/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else uses the cores that a probe loads: contended is busy, never slow.
 *
 * Model: a look is what /proc says at one moment (time of every core, time of
 * every process); two looks bound a window. From them come the share of the
 * window that a core was busy or stolen by a hypervisor, and the process that
 * used most time on given cores. How long a thread of ours waited for its core
 * comes from its own schedstat.
 *
 * Sources: proc(5) for /proc/stat and /proc/PID/stat (clock ticks);
 * Documentation/scheduler/sched-stats.rst for schedstat (nanoseconds).
 *
 * `proc_fd` is a descriptor of /proc (paths_open_sys("/proc")), so that tests
 * hand in a fake tree.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	CPU_USE_COMMAND_SIZE = 64,
	CPU_USE_CPUS_MAX = 8192,       /* NR_CPUS of the largest distribution kernels */
	CPU_USE_PROCESSES_MAX = 65536, /* more are not looked at */
};

/*
 * Limits that both the GEMM and the memory probe hold to. A core that others
 * use for half of the window before we start has a job on it; a thread that
 * lost more than 3 % of its time (below the 5 % that a judge calls slow) to
 * others or to the hypervisor measured them, not its core.
 */
#define CPU_USE_BUSY_MAX 0.5
#define CPU_USE_LOST_MAX 0.03

struct cpu_use_core {
	bool present;
	uint64_t busy_ns;  /* user, nice, system, interrupts: since boot */
	uint64_t steal_ns; /* taken by the hypervisor */
};

struct cpu_use_process {
	long pid;
	uint64_t ns; /* user and system time of all its threads */
};

struct cpu_look {
	uint64_t at_us;		    /* monotonic */
	struct cpu_use_core *cores; /* by CPU number; owned */
	size_t n_cores;
	struct cpu_use_process *processes; /* in the order of /proc; owned */
	size_t n_processes;
};

/* From one look to another. */
struct cpu_use_window {
	const struct cpu_look *from, *to;
};

struct cpu_use_cpus {
	const unsigned *v; /* CPU numbers, borrowed */
	size_t n;
};

struct cpu_user {
	long pid; /* 0: nobody */
	char command[CPU_USE_COMMAND_SIZE];
	double share; /* cores' worth of time it used: 1 is one whole core */
};

/*
 * Look at the cores, and at the processes when `with_processes`. Release it
 * with cpu_look_release(). -ENOENT and the like without /proc/stat, -EINVAL
 * when it cannot be understood.
 */
int cpu_look_take(int proc_fd, bool with_processes, struct cpu_look *ret, struct err *err);
void cpu_look_release(struct cpu_look *look);

/*
 * Shares (0 to 1) of the window between two looks that `cpu` was busy, and
 * that the hypervisor took. 0 for a core that a look does not know.
 */
double cpu_use_busy(const struct cpu_look *from, const struct cpu_look *to, unsigned cpu);
double cpu_use_steal(const struct cpu_look *from, const struct cpu_look *to, unsigned cpu);

/* Nanoseconds that the hypervisor took from `cpu` since boot; 0 when unknown. */
uint64_t cpu_look_steal_ns(const struct cpu_look *look, unsigned cpu);

/*
 * The process other than `self` that used most time in the window and has
 * a thread that last ran on one of `cpus`; pid 0 when there is none. One that
 * is elsewhere now, may run there and used over four times as much has more
 * likely been there in between, and is named instead.
 */
void cpu_use_busiest(int proc_fd, const struct cpu_use_window *window,
		     const struct cpu_use_cpus *cpus, long self, struct cpu_user *ret);

/*
 * Nanoseconds that thread `tid` of process `pid` ran, and waited for its core,
 * since it was made. Either output may be NULL. -ENOENT where the kernel keeps
 * no schedstat.
 */
int cpu_use_schedstat(int proc_fd, long pid, long tid, uint64_t *ret_ran_ns,
		      uint64_t *ret_waited_ns);
