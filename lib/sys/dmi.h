/* SPDX-License-Identifier: Apache-2.0 */
/* Memory modules and slots in the DMI table. Pure. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/pci_address.h"

enum {
	DMI_TABLE_MAX = 4 * 1024 * 1024,
	DMI_MODULES_MAX = 512,
	DMI_SLOTS_MAX = 256,
	DMI_NAME_SIZE = 64
};

struct dmi_module {
	char name[DMI_NAME_SIZE]; /* "BANK 0/DIMM_A1", printable ASCII */
	uint64_t bytes;
};

/*
 * Memory devices (type 17, SMBIOS 3.6 section 7.18) with a module, at most `max`, from the raw
 * table; returns how many. Stops at malformed data.
 */
size_t dmi_modules(const unsigned char *table, size_t len, struct dmi_module *ret, size_t max);

struct dmi_slot {
	char name[DMI_NAME_SIZE];   /* as printed on the board, "PCIe Slot 5"; printable ASCII */
	char pci[PCI_ADDRESS_SIZE]; /* of the device in it, or of the port that it is connected to */
};

/* Slots (type 9, SMBIOS 3.6 section 7.10) with a name and an address, like dmi_modules(). */
size_t dmi_slots(const unsigned char *table, size_t len, struct dmi_slot *ret, size_t max);
