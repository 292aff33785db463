/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slot of a PCI device, as printed on the board: from the DMI table (SMBIOS type 9, readable by
 * root), else from the kernel's numbers of hot-plug slots and ACPI _SUN (/sys/bus/pci/slots). A
 * device below a bridge that is in a slot, like the GPU of a riser, is in that slot. Boards that
 * carry GPUs on modules (SXM, OAM) have no slots for them.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/sys/dmi.h"

struct pci_slots {
	struct dmi_slot *all; /* owned; those of the DMI table first */
	size_t n;
};

/* Reads them under the sysroot; empty if nothing lists them. */
void pci_slots_read(struct pci_slots *ret);
void pci_slots_release(struct pci_slots *slots);

/* The slot of the device at `pci` ("0000:4e:00.0"), or "". Borrowed. */
const char *pci_slots_of(const struct pci_slots *slots, const char *pci);
