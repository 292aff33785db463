/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NCCL version that a process has loaded, from file names: the library's own
 * (libnccl.so.2.28.9, as in distribution packages), or the Python package next to it
 * (nvidia_nccl_cu12-2.28.9.dist-info). Only directories within the process's root are opened, no
 * files. Not available if NCCL is linked into another library.
 */
#pragma once

#include <sys/types.h>

#include "lib/base/macro.h"

enum { NCCL_VERSION_SIZE = 32 };

/* "2.28.9". -ENOENT: it has no NCCL, or an unknown version; -errno. `proc`: usually "/proc". */
int nccl_version_of(const char *proc, pid_t pid, char ret[static NCCL_VERSION_SIZE]);
