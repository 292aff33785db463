/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/pci_slots.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h" /* strv_freep() */
#include "lib/sys/file.h"
#include "lib/sys/sysfs.h"

static const char slots_dir[] = "/sys/bus/pci/slots";

static void read_dmi(struct pci_slots *slots)
{
	CLEANUP(freep) char *path = sys_path("/sys/firmware/dmi/tables/DMI");
	CLEANUP(freep) char *table = NULL;
	size_t length = 0;

	if (file_read(AT_FDCWD, path, DMI_TABLE_MAX, &table, &length, NULL) == 0)
		slots->n =
			dmi_slots((const unsigned char *)table, length, slots->all, DMI_SLOTS_MAX);
}

/* "0000:4e:00", without a function: all functions of that device. */
static void read_kernel(struct pci_slots *slots)
{
	CLEANUP(strv_freep) char **names = sys_list(slots_dir, "");
	size_t i;

	for (i = 0; names && names[i] && slots->n < DMI_SLOTS_MAX; i++) {
		CLEANUP(freep) char *address = sys_line("%s/%s/address", slots_dir, names[i]);
		struct dmi_slot *slot = &slots->all[slots->n];

		if (!address || !pci_find_address(address, slot->pci))
			continue;
		(void)snprintf(slot->name, sizeof(slot->name), "%.60s", names[i]);
		(void)ascii_clean(slot->name);
		slots->n++;
	}
}

void pci_slots_read(struct pci_slots *ret)
{
	*ret = (struct pci_slots){ .all = xcalloc(DMI_SLOTS_MAX, sizeof(*ret->all)) };
	read_dmi(ret);
	read_kernel(ret);
}

void pci_slots_release(struct pci_slots *slots)
{
	free(slots->all);
	*slots = (struct pci_slots){ 0 };
}

static const char *slot_at(const struct pci_slots *slots, const char *pci)
{
	size_t i;

	for (i = 0; i < slots->n; i++) {
		if (pci_same_card(slots->all[i].pci, pci))
			return slots->all[i].name;
	}
	return "";
}

const char *pci_slots_of(const struct pci_slots *slots, const char *pci)
{
	CLEANUP(freep) char *path = sys_path("/sys/bus/pci/devices/%s", pci);
	CLEANUP(freep) char *real = realpath(path, NULL);
	const char *name = slot_at(slots, pci);
	char address[PCI_ADDRESS_SIZE], *last;

	/* Walk up: each component of the real path that is an address is a bridge above. */
	while (!*name && real && (last = strrchr(real, '/'))) {
		*last = '\0';
		last = strrchr(real, '/');
		if (!last || !pci_find_address(last + 1, address))
			break;
		name = slot_at(slots, address);
	}
	return name;
}
