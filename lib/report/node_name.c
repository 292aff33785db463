/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/report/node_name.h"

#include <string.h>

bool node_name_letters_ok(const char *text, size_t max)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t length = text ? strlen(text) : 0;

	return length > 0 && length <= max && strspn(text, allowed) == length;
}

bool node_name_ok(const char *name)
{
	return node_name_letters_ok(name, NODE_NAME_MAX) && name[0] != '.' && name[0] != '-';
}
