/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat of Linux: proc_pid_stat(5). */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

/* Fields by the numbers of the manual page; only those after the name. */
enum { PROC_STAT_STATE = 3, PROC_STAT_UTIME = 14, PROC_STAT_STIME = 15, PROC_STAT_START = 22 };

/* Where the field begins in the text of such a file; NULL if it has fewer fields. */
const char *proc_stat_field(const char *text, int field);

/* Start time of the process whose /proc/PID is open, in ticks since boot; negative errno. */
int proc_stat_start(int proc_fd, uint64_t *ret_ticks);
