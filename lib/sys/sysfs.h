/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small reads of /sys and /proc below the sysroot. All text comes back as
 * printable ASCII, so that it can go into a sample whatever a driver, a BIOS
 * or a log wrote.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/utf8.h" /* ascii_clean() */

enum {
	SYS_LIST_MAX = 16384, /* names taken of one directory */
	SYS_CPUS_MAX = 8192,  /* CPU numbers understood */
};

/* The path of "/sys/..." below the sysroot, new memory. */
char *sys_path(const char *fmt, ...) PRINTF(1, 2);

/* The line in a one-value file, new memory, or NULL when it cannot be read. */
char *sys_line(const char *fmt, ...) PRINTF(1, 2);

/* The same as a whole number of base 10 or 0x...; false when there is none. */
bool sys_u64(uint64_t *ret_value, const char *fmt, ...) PRINTF(2, 3);

/*
 * Names in a directory that begin with `prefix`, in the order of their
 * numbers, NULL-terminated (strv_free() frees it); NULL when it cannot be read.
 */
char **sys_list(const char *path, const char *prefix);

/*
 * Read a list such as "0-3,8" into `set` (SYS_CPUS_MAX flags, added to) and
 * return how many it names; -1 when it is malformed or names too high a CPU.
 * The empty list is 0.
 */
int cpulist_parse(const char *text, bool *set);
