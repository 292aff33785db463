/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which slot a PCI device is, as it is printed on the board: by the DMI table (SMBIOS type 9,
 * which root may read), else by the number that the kernel has of hot-plug slots and ACPI _SUN
 * (/sys/bus/pci/slots). A device below a bridge that is in a slot, as the GPU of a riser, is in
 * that slot. Boards that carry GPUs on modules (SXM, OAM) have no slots for them.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/sys/dmi.h"

struct pci_slots {
	struct dmi_slot *all; /* owned; those of the DMI table first */
	size_t n;
};

/* Read them below the sysroot; none where nothing says so. */
void pci_slots_read(struct pci_slots *ret);
void pci_slots_release(struct pci_slots *slots);

/* The slot of the device at `pci` ("0000:4e:00.0"), or "". Borrowed. */
const char *pci_slots_of(const struct pci_slots *slots, const char *pci);
