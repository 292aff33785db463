/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else uses the cores that a probe loads: contended is busy, never slow.
 *
 * A look is a snapshot of /proc (the time of every core and of every process), and two looks bound
 * a window. They give the share of the window for which a core was busy or stolen by a hypervisor,
 * and the process that used most time on given cores. How long a thread of ours waited for its core
 * comes from its own schedstat.
 *
 * Sources: proc(5) for /proc/stat and /proc/PID/stat (clock ticks);
 * Documentation/scheduler/sched-stats.rst for schedstat (nanoseconds).
 *
 * `proc_fd` is a descriptor of /proc (paths_open_sys("/proc")), so that tests can pass a fake tree.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	CPU_USE_COMMAND_SIZE = 64,
	CPU_USE_CPUS_MAX = 8192,       /* NR_CPUS of the largest distribution kernels */
	CPU_USE_PROCESSES_MAX = 65536, /* more are ignored */
};

/*
 * Thresholds of both the GEMM and the memory probe. If others use a core for half of the window
 * before we start, a job runs there. A thread that lost more than 3 % of its time to others or the
 * hypervisor (less than the 5 % that is judged slow) has not measured its core.
 */
#define CPU_USE_BUSY_MAX 0.5
#define CPU_USE_LOST_MAX 0.03

struct cpu_use_core {
	bool present;
	uint64_t busy_ns;  /* user, nice, system, interrupts: since boot */
	uint64_t steal_ns; /* stolen by the hypervisor */
};

struct cpu_use_process {
	long pid;
	uint64_t ns; /* user and system time of all its threads */
};

struct cpu_look {
	uint64_t at_us;		    /* monotonic */
	struct cpu_use_core *cores; /* by CPU number; owned */
	size_t n_cores;
	struct cpu_use_process *processes; /* in /proc order; owned */
	size_t n_processes;
};

/* Between two looks. */
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
	double share; /* CPU time used: 1 is one whole core */
};

/*
 * Take a look at the cores, and at the processes if `with_processes`. Free it with
 * cpu_look_release(). -ENOENT and similar without /proc/stat, -EINVAL if it is malformed.
 */
int cpu_look_take(int proc_fd, bool with_processes, struct cpu_look *ret, struct err *err);
void cpu_look_release(struct cpu_look *look);

/*
 * Shares (0 to 1) of the window for which `cpu` was busy, or stolen by the hypervisor. 0 if a look
 * does not have the core.
 */
double cpu_use_busy(const struct cpu_look *from, const struct cpu_look *to, unsigned cpu);
double cpu_use_steal(const struct cpu_look *from, const struct cpu_look *to, unsigned cpu);

/* Nanoseconds stolen from `cpu` by the hypervisor since boot; 0 if unknown. */
uint64_t cpu_look_steal_ns(const struct cpu_look *look, unsigned cpu);

/*
 * Find the process, other than `self`, that used most time in the window and has a thread that last
 * ran on one of `cpus`; pid 0 if there is none. A process that last ran elsewhere, but may run on
 * them and used over four times as much, has more likely been there in between and is returned
 * instead.
 */
void cpu_use_busiest(int proc_fd, const struct cpu_use_window *window,
		     const struct cpu_use_cpus *cpus, long self, struct cpu_user *ret);

/*
 * Nanoseconds that thread `tid` of process `pid` has run, and has waited for its core, since it was
 * created. Either output may be NULL. -ENOENT if the kernel has no schedstat.
 */
int cpu_use_schedstat(int proc_fd, long pid, long tid, uint64_t *ret_ran_ns,
		      uint64_t *ret_waited_ns);
