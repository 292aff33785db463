/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory the control group of this process may still use; a service or container that
 * exceeds its limit is killed. Version 2 only (Documentation/admin-guide/cgroup-v2.rst, memory.max
 * and memory.current). The limits of parent groups are taken into account.
 */
#pragma once

#include <stdint.h>

/* Bytes left; UINT64_MAX if there is no limit. `root` is the sysroot. */
uint64_t cgroup_memory_left(const char *root);
