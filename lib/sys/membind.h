/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of one NUMA node, by system call: libnuma would add nothing. Source: mbind(2). */
#pragma once

#include <stddef.h>

enum { MEMBIND_NODE_MAX = 1023 }; /* MAX_NUMNODES of the kernel, minus one */

/*
 * The mapped, still untouched pages [at, at + bytes) will come from `node` only. Negative errno:
 * -EINVAL if the node does not exist or is not allowed for this process, -EPERM or -ENOSYS in a
 * container or kernel without mbind.
 */
int membind(void *at, size_t bytes, unsigned node);
