/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small reads of /sys and /proc under the sysroot. All text is returned as printable ASCII, so that
 * it can go into a sample whatever a driver, a BIOS or a log wrote.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/utf8.h" /* ascii_clean() */

enum {
	SYS_LIST_MAX = 16384, /* names read from one directory */
	SYS_CPUS_MAX = 8192,  /* CPU numbers supported */
};

/* The path of "/sys/..." under the sysroot, new memory. */
char *sys_path(const char *fmt, ...) PRINTF(1, 2);

/* The line in a one-value file, new memory, or NULL if it is not readable. */
char *sys_line(const char *fmt, ...) PRINTF(1, 2);

/* The same as an integer, decimal or 0x...; false if it is not one. */
bool sys_u64(uint64_t *ret_value, const char *fmt, ...) PRINTF(2, 3);

/*
 * Names in a directory that begin with `prefix`, in numeric order, NULL-terminated (free with
 * strv_free()); NULL if it is not readable.
 */
char **sys_list(const char *path, const char *prefix);

/*
 * Adds a list like "0-3,8" to `set` (SYS_CPUS_MAX flags) and returns how many it names; -1 if it is
 * malformed or names too high a CPU. The empty list is 0.
 */
int cpulist_parse(const char *text, bool *set);
