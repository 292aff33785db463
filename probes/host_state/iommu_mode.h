/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel command line requests of the IOMMU. Pure. */
#pragma once

#include <stddef.h>

/*
 * "off", "pt" (devices see physical addresses), "on" (requested, or there are groups), or "default"
 * (nothing requested and no groups). "off" takes precedence; of pt and nopt, the later one wins.
 * Options: Documentation/admin-guide/kernel-parameters.txt.
 */
const char *iommu_mode(const char *cmdline, size_t n_groups);
