/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of PCIe errors as sysfs gives them. Pure. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct strbuf;

/*
 * The sum of an aer_dev_* file (lines "BadTLP 12",
 * Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats): its TOTAL_...
 * line, else all others together. Types that are not 0 are appended to
 * `ret_types` as "BadTLP 12, RxErr 1", cut at its limit.
 */
uint64_t aer_total(const char *text, struct strbuf *ret_types);
