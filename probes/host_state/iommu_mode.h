/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel command line asks of the IOMMU. Pure. */
#pragma once

#include <stddef.h>

/*
 * "off", "pt" (devices see physical addresses), "on" (asked for, or there are
 * groups), or "default" (nothing asked and no groups). Off beats all; of pt and
 * nopt the later wins. Words: Documentation/admin-guide/kernel-parameters.txt.
 */
const char *iommu_mode(const char *cmdline, size_t n_groups);
