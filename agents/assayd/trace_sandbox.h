/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a converter of a stranger's file may do: read it, compute, and write to two pipes. It is
 * that user ("nobody" for files of root), without capabilities and without a way to gain any, with
 * limits of memory, time and size; it can make no socket and no process, signal or look into none,
 * and change no file. The kernel is told by a filter of calls: seccomp(2), which needs no rights.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

enum {
	TRACE_SANDBOX_MEMORY_MAX = 1024 * 1024 * 1024, /* bytes of address space: JSON of 64 MiB */
	TRACE_SANDBOX_CPU_S = 60,
	TRACE_SANDBOX_NOBODY = 65534,
	/* Exit statuses of a child that did not become the program. */
	TRACE_SANDBOX_FAILED = 126,
	TRACE_SANDBOX_NO_PROGRAM = 127,
};

struct trace_sandbox {
	int in, out, err; /* its standard descriptors */
	int script;	  /* that it reads as /dev/fd/3 */
	uid_t uid;
	gid_t gid;
	const char *program;
	char *const *argv;
	pid_t parent;
};

/* In a child after fork(): become the program, or end. Nothing but calls that a signal handler may
 * make. */
_Noreturn void trace_sandbox_exec(const struct trace_sandbox *s);
