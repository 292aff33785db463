/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory the control group of this process may still take: a service
 * or a container that touches more is killed. Version 2 only
 * (Documentation/admin-guide/cgroup-v2.rst, memory.max and memory.current);
 * the limits of all groups above count too.
 */
#pragma once

#include <stdint.h>

/* Bytes left, UINT64_MAX without a limit. `root` is the sysroot. */
uint64_t cgroup_memory_left(const char *root);
