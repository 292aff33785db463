/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandbox for converting a stranger's file: the child can read it, compute, and write to two
 * pipes. It runs as the file's owner ("nobody" for root's files), without capabilities or a way
 * to gain any, with limits on memory, time and size. It cannot create sockets or processes,
 * signal or inspect other processes, or modify files. Enforced by seccomp(2) filters, which need
 * no privileges.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

enum {
	TRACE_SANDBOX_MEMORY_MAX = 1024 * 1024 * 1024, /* address space in bytes: JSON of 64 MiB */
	TRACE_SANDBOX_CPU_S = 60,
	TRACE_SANDBOX_NOBODY = 65534,
	/* Exit statuses of a child that failed to exec. */
	TRACE_SANDBOX_FAILED = 126,
	TRACE_SANDBOX_NO_PROGRAM = 127,
};

struct trace_sandbox {
	int in, out, err; /* become its stdin, stdout, stderr */
	int script;	  /* which it reads as /dev/fd/3 */
	uid_t uid;
	gid_t gid;
	const char *program;
	char *const *argv;
	pid_t parent;
};

/* In a child after fork(): exec the program, or exit. Makes only async-signal-safe calls. */
_Noreturn void trace_sandbox_exec(const struct trace_sandbox *s);
