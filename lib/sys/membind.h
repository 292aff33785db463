/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one NUMA node, by the system call: libnuma would add nothing. Source: mbind(2). */
#pragma once

#include <stddef.h>

enum { MEMBIND_NODE_MAX = 1023 }; /* MAX_NUMNODES of the kernel, less one */

/*
 * The mapped pages [at, at + bytes), which nobody has touched yet, will come from
 * `node` and from no other. Negative errno: -EINVAL when there is no such node or
 * it is not allowed to this process, -EPERM or -ENOSYS in a container or kernel without mbind.
 */
int membind(void *at, size_t bytes, unsigned node);
