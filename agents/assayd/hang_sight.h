/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process of a job does, from /proc alone: nothing here traces, signals or stops it.
 *
 *	sight of a process (its main thread, and those of its threads that compute, or wait for a
 *	device) -- a second one, HANG_SIGHT_APART_US later --> what it does
 *
 * One sight says little: a healthy process is in D for a moment, and in a futex most of the time.
 * What counts is what is the same in both and did not move between: a thread that went to sleep by
 * itself once more ("voluntary_ctxt_switches") has moved.
 *
 *	gone, zombie	it has ended; a zombie's last thread, too
 *	traced		its main thread is held by a debugger
 *	stopped		a signal stopped it, or its control group is frozen
 *	disk		a thread was in D, or asked a file system that does not answer, throughout
 *	spinning	its main thread could run all the time, made no system call that takes time
 *			and never slept: a loop, or a long computation (/proc does not tell which)
 *	running		its main thread computed, or moved from one wait to another
 *	futex		its main thread waits for the same lock or thread
 *	sleeping	it waits for anything else
 *
 * Of proc_pid_stat(5), proc_pid_status(5), proc_pid_syscall(5), proc_pid_wchan(5) and
 * Documentation/scheduler/sched-stats.rst (schedstat) of Linux. Without the right to trace a
 * process wchan and syscall are empty, and what waits is sleeping.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	HANG_SIGHT_THREADS_MAX = 1024, /* of a process that are looked at */
	HANG_SIGHT_NOTED_MAX = 16,     /* of them that are kept: the main one is the first */
	HANG_SIGHT_WORD_SIZE = 48,
};

/* Two sights that are closer do not count as two. */
#define HANG_SIGHT_APART_US (1 * USEC_PER_SEC)

#define HANG_SIGHT_NO_CALL INT64_C(-1)	/* in the program itself */
#define HANG_SIGHT_ANY_CALL INT64_C(-2) /* it may not be read */

struct hang_thread {
	pid_t tid;
	char state;			   /* "RSDTtZX" of proc_pid_stat(5) */
	uint64_t user_ticks, system_ticks; /* sysconf(_SC_CLK_TCK) a second */
	uint64_t run_ns, queued_ns;	   /* on a processor, and waiting for one; 0: not known */
	uint64_t switches;		   /* it went to sleep by itself so often */
	int64_t call;			   /* the system call that it is in */
	uint64_t argument;		   /* the first of the call */
	char wchan[HANG_SIGHT_WORD_SIZE];  /* where in the kernel it waits, "" */
};

struct hang_sight {
	uint64_t at_us; /* monotonic; 0: none yet */
	bool gone;
	size_t n_threads; /* that live, up to HANG_SIGHT_THREADS_MAX */
	size_t n_noted;
	struct hang_thread noted[HANG_SIGHT_NOTED_MAX];
};

/* What it does. */
struct hang_doing {
	uint8_t process; /* enum hang_process (lib/hang/hang_case.h) */
	pid_t tid;	 /* of the thread that says so */
	char wchan[HANG_SIGHT_WORD_SIZE];
	char call[HANG_SIGHT_WORD_SIZE]; /* "futex"; "call 1234" for one without a name here; "" */
	bool still;			 /* that thread did not move between the sights */
	size_t n_threads, n_spinning;
};

/*
 * A descriptor of /proc/PID of the process that started then (`start_ticks` of proc_pid_stat(5)):
 * as long as it is open it stands for that process and for none that has its number later.
 * -ESRCH when it has ended.
 */
int hang_sight_open(pid_t pid, uint64_t start_ticks);

/* Look at the process whose /proc/PID is open at `proc_fd`. A `gone` sight is one, too. */
void hang_sight_look(int proc_fd, uint64_t now_us, struct hang_sight *ret);

/*
 * From two sights, `before` of which may be none (`at_us` 0). Pure. What one sight cannot tell is
 * HANG_PROCESS_UNKNOWN.
 */
void hang_sight_judge(const struct hang_sight *before, const struct hang_sight *after,
		      struct hang_doing *ret);

/* Does a process that does this stand still, whatever its job is? */
bool hang_sight_stands(const struct hang_doing *doing);
