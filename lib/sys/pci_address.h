/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of PCI functions in text of drivers, firmware and people. Pure. */
#pragma once

#include "lib/base/macro.h"

enum { PCI_ADDRESS_SIZE = 20 };

/*
 * Find the first PCI address in `text` ("0000:1b:00.0", "00000000:1B:00.0",
 * "PCI:0000:1b:00") and write it as sysfs does, function 0 when none is given.
 */
bool pci_find_address(const char *text, char ret_address[static PCI_ADDRESS_SIZE]);

/*
 * Are these addresses, as sysfs writes them, of one card: the same function, or another one of the
 * same device, as the two ports of a card ("0000:1b:00.0" and ".1")? What either moves goes through
 * the same slot. Not of an empty one, nor of NULL.
 */
bool pci_same_card(const char *a, const char *b);
