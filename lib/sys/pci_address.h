/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of PCI functions in text from drivers, firmware and people. Pure. */
#pragma once

#include "lib/base/macro.h"

enum { PCI_ADDRESS_SIZE = 20 };

/*
 * Finds the first PCI address in `text` ("0000:1b:00.0", "00000000:1B:00.0", "PCI:0000:1b:00") and
 * writes it as sysfs does, with function 0 if there is none.
 */
bool pci_find_address(const char *text, char ret_address[static PCI_ADDRESS_SIZE]);

/*
 * True if these addresses, as in sysfs, belong to one card: the same function, or another one of
 * the same device, like the two ports of a card ("0000:1b:00.0" and ".1"). Their traffic goes
 * through the same slot. False for "" and NULL.
 */
bool pci_same_card(const char *a, const char *b);
