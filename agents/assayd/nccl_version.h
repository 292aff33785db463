/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which NCCL a process has loaded, as far as names of files tell: the library's own
 * (libnccl.so.2.28.9, as packages of distributions have it) or, beside it, that of the Python
 * package it came with (nvidia_nccl_cu12-2.28.9.dist-info). No file of the process is opened but
 * directories, within its own root. A process that links NCCL into another library says nothing.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

enum { NCCL_VERSION_SIZE = 32 };

/* "2.28.9". -ENOENT: it has none, or does not say which; -errno. `proc`: usually "/proc". */
int nccl_version_of(const char *proc, pid_t pid, char ret[static NCCL_VERSION_SIZE]);
