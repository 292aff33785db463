/* SPDX-License-Identifier: Apache-2.0 */
/* Who this host is: read from /proc, /sys and the environment. */
#pragma once

#include <jansson.h>

#include "lib/macro.h"

/* The node's name: ASSAY_NODE, else the host name. New memory. */
char *host_name(void);

/* /proc/sys/kernel/random/boot_id under the sysroot, "" when not readable. New memory. */
char *host_boot_id(void);

/* The model of its processors (lib/cpuinfo.h), NULL when it is not told. New memory. */
char *host_cpu_model(void);

/*
 * What identifies the software and firmware of this host, as an object of
 * strings: kernel, machine (lib/machine.h), product, bios, cpu, microcode, driver.nvidia, os. Keys
 * that cannot be read are left out. New reference.
 */
json_t *host_env(void);
