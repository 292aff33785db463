/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/pci_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"

/* Reads hexadecimal digits of `text` (at most `max`) into `ret`; returns how many. */
static size_t hex(const char *text, size_t max, unsigned *ret)
{
	size_t n = MIN(strspn(text, "0123456789abcdefABCDEF"), max);
	CLEANUP(freep) char *digits = xstrndup(text, n);

	*ret = (unsigned)strtoul(digits, NULL, 16);
	return n;
}

static bool address_at(const char *text, char ret_address[static PCI_ADDRESS_SIZE])
{
	unsigned domain = 0, bus = 0, slot = 0, function = 0;
	size_t n = hex(text, 8, &domain);

	if (n < 4 || text[n] != ':')
		return false;
	text += n + 1;
	if (hex(text, 2, &bus) != 2 || text[2] != ':' || hex(text + 3, 2, &slot) != 2)
		return false;
	if (text[5] == '.' && text[6] >= '0' && text[6] <= '7')
		function = (unsigned)(text[6] - '0');
	(void)snprintf(ret_address, PCI_ADDRESS_SIZE, "%04x:%02x:%02x.%u", domain, bus, slot,
		       function);
	return true;
}

bool pci_find_address(const char *text, char ret_address[static PCI_ADDRESS_SIZE])
{
	static const char digits[] = "0123456789abcdefABCDEF";

	for (; *text; text++) {
		if (address_at(text, ret_address))
			return true;
		/* Skip the rest of these digits: an address starts with a whole run. */
		text += strspn(text, digits);
		if (!*text)
			return false;
	}
	return false;
}

bool pci_same_card(const char *a, const char *b)
{
	const size_t n = a ? strcspn(a, ".") : 0;

	return n > 0 && b && strcspn(b, ".") == n && strncmp(a, b, n) == 0;
}
