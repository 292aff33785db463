/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/subdomain.h"

#include <string.h>

/* `label`: the text between two dots. */
static bool is_label(const char *label, size_t len)
{
	static const char inner[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	return len > 0 && strspn(label, inner) >= len && label[0] != '-' && label[len - 1] != '-';
}

bool is_subdomain(const char *text)
{
	if (!text || strlen(text) > SUBDOMAIN_MAX)
		return false;
	for (;;) {
		size_t len = strcspn(text, ".");

		if (!is_label(text, len))
			return false;
		if (!text[len])
			return true;
		text += len + 1;
	}
}
