/* SPDX-License-Identifier: Apache-2.0 */
/* Identity of this host, from /proc, /sys and the environment. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

/* The node's name: ASSAY_NODE, else the host name. New memory. */
char *host_name(void);

/*
 * True if it can be the name of a host. It appears in URLs and in file names of the controller: 1
 * to 253 (RFC 1035) letters, digits, '.', '-', '_', not beginning with '.' or '-'.
 */
bool host_name_ok(const char *name);
#define HOST_NAME_WANTED "expected a host name: letters, digits, '.', '-', '_'"

/* /proc/sys/kernel/random/boot_id under the sysroot, "" if not readable. New memory. */
char *host_boot_id(void);

/* The model of its processors (lib/sys/cpuinfo.h), NULL if unknown. New memory. */
char *host_cpu_model(void);

/*
 * Software and firmware of this host, as an object of strings: kernel, machine (lib/sys/machine.h),
 * product, bios, cpu, microcode, driver.nvidia, os. Keys that cannot be read are left out. New
 * reference.
 */
json_t *host_env(void);
