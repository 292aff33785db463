/* SPDX-License-Identifier: Apache-2.0 */
/* Tables filled by firmware and devices: DMI, and the configuration space of PCI functions. */
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/dmi.h"
#include "probes/host_state/pci.h"
#include "tests/fuzz/fuzz.h"

enum { MODULES = 16 };

static void check_modules(const unsigned char *table, size_t size)
{
	struct dmi_module modules[MODULES];
	size_t n = dmi_modules(table, size, modules, MODULES), i;
	const char *at;

	FUZZ_CHECK(n <= MODULES);
	for (i = 0; i < n; i++) {
		FUZZ_CHECK(strnlen(modules[i].name, DMI_NAME_SIZE) < DMI_NAME_SIZE);
		for (at = modules[i].name; *at; at++)
			FUZZ_CHECK(*at >= ' ' && *at <= '~');
	}
}

static void check_slots(const unsigned char *table, size_t size)
{
	struct dmi_slot slots[MODULES];
	size_t n = dmi_slots(table, size, slots, MODULES), i;
	char address[PCI_ADDRESS_SIZE];
	const char *at;

	FUZZ_CHECK(n <= MODULES);
	for (i = 0; i < n; i++) {
		FUZZ_CHECK(slots[i].name[0] && strlen(slots[i].name) < DMI_NAME_SIZE);
		for (at = slots[i].name; *at; at++)
			FUZZ_CHECK(*at >= ' ' && *at <= '~');
		FUZZ_CHECK(pci_find_address(slots[i].pci, address));
		FUZZ_CHECK(streq(slots[i].pci, address));
	}
}

static void check_config(const unsigned char *config, size_t size)
{
	unsigned id;

	FUZZ_CHECK(pci_port_kind(config, size) >= -1 && pci_port_kind(config, size) <= 15);
	FUZZ_CHECK(pci_acs_control(config, size) <= UINT16_MAX);
	for (id = 1; id < 32; id++)
		FUZZ_CHECK(pci_extended_capability(config, size, id) <= size);
}

static void check_text(const char *text)
{
	char address[PCI_ADDRESS_SIZE];

	(void)pci_parse_speed(text);
	if (pci_find_address(text, address))
		FUZZ_CHECK(strlen(address) >= strlen("0000:1b:00.0") &&
			   strlen(address) < PCI_ADDRESS_SIZE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) unsigned char *bytes = fuzz_bytes(data, size);
	CLEANUP(freep) char *text = fuzz_text(data, size);

	check_modules(bytes, size);
	check_slots(bytes, size);
	check_config(bytes, MIN(size, (size_t)PCI_CONFIG_MAX));
	check_text(text);
	return 0;
}
