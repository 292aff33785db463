/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What py-spy saw of a Python process (`py-spy dump --nonblocking --json`): where its main thread
 * is. Pure.
 *
 * Layout: benfred/py-spy, src/stack_trace.rs and src/dump.rs (facts read there): a list of threads,
 * each {pid, thread_id, thread_name, os_thread_id, active, owns_gil, frames, process_info}, each
 * frame {name, filename, module, short_filename, line, locals}, the innermost first. Taken without
 * stopping the process, so a frame may be torn: evidence, never a verdict.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/hang/hang_case.h"

enum {
	HANG_STACK_MAX = 1024 * 1024, /* bytes of JSON */
	HANG_STACK_THREADS_MAX = 4096,
	HANG_STACK_FRAMES_MAX = 4096, /* of a thread: what py-spy reads at most */
};

struct hang_stack {
	/* The innermost frame of the main thread that says something, "next (loader.py:31)": not
	 * one of the standard library's that only waits, unless all are. "" without any frame. */
	char where[HANG_WHERE_SIZE];
};
struct err;

/* -EINVAL with the place: it is nothing that py-spy writes, or has no thread; -E2BIG. */
int hang_stack_read(const char *text, size_t size, struct hang_stack *ret, struct err *err);
