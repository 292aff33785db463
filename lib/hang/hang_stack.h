/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What py-spy saw of a Python process (`py-spy dump --nonblocking --json`): where its main thread
 * is. Pure.
 *
 * Layout: benfred/py-spy, src/stack_trace.rs and src/dump.rs (facts read there): a list of threads,
 * each {pid, thread_id, thread_name, os_thread_id, active, owns_gil, frames, process_info}, each
 * frame {name, filename, module, short_filename, line, locals}, innermost first. Taken without
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
	HANG_STACK_FRAMES_MAX = 4096, /* of a thread; py-spy reads no more */
};

struct hang_stack {
	/*
	 * The innermost meaningful frame of the main thread, "next (loader.py:31)": not one of the
	 * standard library that only waits, unless all are. "" without frames.
	 */
	char where[HANG_WHERE_SIZE];
};
struct err;

/* -EINVAL with the place: not py-spy output, or without threads; -E2BIG. */
int hang_stack_read(const char *text, size_t size, struct hang_stack *ret, struct err *err);
