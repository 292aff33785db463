/* SPDX-License-Identifier: Apache-2.0 */
/* The cores that the CPU engine may use. */
#pragma once

#include "lib/base/macro.h"

struct err;
struct host;
struct host_core;

/*
 * Find the physical cores that this process may run on, from /sys/devices/system/cpu under the
 * sysroot; a CPU without topology files is a core of its own. Sets cores and n_cores. -ENODEV if
 * there is none.
 */
int host_find_cores(struct host *h, struct err *err);
void host_free_cores(struct host *h);

/* Is the logical CPU one of the core's hardware threads? */
bool host_core_has(const struct host_core *core, unsigned cpu);
