/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process of a job is doing, from /proc alone: nothing here traces, signals or stops it.
 *
 *	a sample of a process (its main thread, and its threads that compute or wait for a device)
 *	-- a second one, HANG_SIGHT_APART_US later --> what it is doing
 *
 * One sample says little: a healthy process is in D for a moment, and in a futex most of the time.
 * What counts is what is the same in both and did not change between: a thread that has slept again
 * ("voluntary_ctxt_switches") has moved.
 *
 *	gone, zombie	it has ended, including a zombie's last thread
 *	traced		its main thread is held by a debugger
 *	stopped		a signal stopped it, or its control group is frozen
 *	disk		a thread was in D, or waited for a dead file system, throughout
 *	spinning	its main thread was runnable all the time, never slept and made no system
 *			call that takes time: a loop or a long computation (/proc cannot tell)
 *	running		its main thread computed, or moved from one wait to another
 *	futex		its main thread waits for the same lock or thread
 *	sleeping	it waits for anything else
 *
 * Sources: proc_pid_stat(5), proc_pid_status(5), proc_pid_syscall(5), proc_pid_wchan(5) and Linux
 * Documentation/scheduler/sched-stats.rst (schedstat). Without permission to trace a process, wchan
 * and syscall are empty, and any wait is "sleeping".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	HANG_SIGHT_THREADS_MAX = 1024, /* sampled per process */
	HANG_SIGHT_NOTED_MAX = 16,     /* of them kept; the main thread is first */
	HANG_SIGHT_WORD_SIZE = 48,
};

/* Samples closer together than this count as one. */
#define HANG_SIGHT_APART_US (1 * USEC_PER_SEC)

#define HANG_SIGHT_NO_CALL INT64_C(-1)	/* not in a system call */
#define HANG_SIGHT_ANY_CALL INT64_C(-2) /* may not be read */

struct hang_thread {
	pid_t tid;
	char state;			   /* "RSDTtZX", proc_pid_stat(5) */
	uint64_t user_ticks, system_ticks; /* sysconf(_SC_CLK_TCK) per second */
	uint64_t run_ns, queued_ns;	   /* on a CPU, and waiting for one; 0: unknown */
	uint64_t switches;		   /* voluntary_ctxt_switches */
	int64_t call;			   /* current system call */
	uint64_t argument;		   /* first argument of the call */
	char wchan[HANG_SIGHT_WORD_SIZE];  /* kernel function it waits in, or "" */
};

struct hang_sight {
	uint64_t at_us; /* monotonic; 0: none yet */
	bool gone;
	size_t n_threads; /* live ones, at most HANG_SIGHT_THREADS_MAX */
	size_t n_noted;
	struct hang_thread noted[HANG_SIGHT_NOTED_MAX];
};

struct hang_doing {
	uint8_t process; /* enum hang_process (lib/hang/hang_case.h) */
	pid_t tid;	 /* that shows it */
	char wchan[HANG_SIGHT_WORD_SIZE];
	char call[HANG_SIGHT_WORD_SIZE]; /* "futex"; "call 1234" without a known name; or "" */
	bool still;			 /* that thread did not move between the samples */
	size_t n_threads, n_spinning;
};

/*
 * Open /proc/PID of the process that started at `start_ticks` (proc_pid_stat(5)). The descriptor
 * stays bound to that process, even if its PID is reused. -ESRCH if it has ended.
 */
int hang_sight_open(pid_t pid, uint64_t start_ticks);

/*
 * Sample the process whose /proc/PID is open at `proc_fd`. If it has ended, the sample is `gone`.
 */
void hang_sight_look(int proc_fd, uint64_t now_us, struct hang_sight *ret);

/*
 * Judge two samples; `before` may be empty (`at_us` 0). Pure. HANG_PROCESS_UNKNOWN if one sample
 * is not enough.
 */
void hang_sight_judge(const struct hang_sight *before, const struct hang_sight *after,
		      struct hang_doing *ret);

/* Does a process in this state stand still, whatever its job is? */
bool hang_sight_stands(const struct hang_doing *doing);
