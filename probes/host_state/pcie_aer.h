/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the PCIe error counters of sysfs. Pure. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct strbuf;

/*
 * The total of an aer_dev_* file (lines "BadTLP 12",
 * Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats): its TOTAL_... line, or else the sum
 * of the others. Non-zero types are appended to `ret_types` as "BadTLP 12, RxErr 1", truncated at
 * its limit.
 */
uint64_t aer_total(const char *text, struct strbuf *ret_types);
