/* SPDX-License-Identifier: Apache-2.0 */
/* The memory modules in the DMI table. Pure. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { DMI_MODULES_MAX = 512, DMI_NAME_SIZE = 64 };

struct dmi_module {
	char name[DMI_NAME_SIZE]; /* "BANK 0/DIMM_A1", printable ASCII */
	uint64_t bytes;
};

/*
 * Memory devices (type 17, SMBIOS 3.6 section 7.18) that hold a module, at
 * most `max`, from the raw table; how many. Whatever is malformed ends the walk.
 */
size_t dmi_modules(const unsigned char *table, size_t len, struct dmi_module *ret, size_t max);
