/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/machine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>

#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum { DISTINCT_MIN = 4 };

/* Text that vendors leave in place of a number. */
static bool is_placeholder(const char *text)
{
	static const char *const rows[] = {
		"to be filled",	  "default string", "not specified",
		"not applicable", "not available",  "none",
		"unknown",	  "system serial",  "base board",
		"chassis serial", "invalid",	    "empty",
		"0123456789",	  "123456789",	    "03000200-0400-0500-0006-000700080009",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strncasecmp(text, rows[i], strlen(rows[i])) == 0)
			return true;
	}
	return false;
}

/* "00000000", "FFFF-FFFF", "." */
static bool is_monotonous(const char *text)
{
	bool seen[256] = { false };
	unsigned distinct = 0;

	for (; *text; text++) {
		if (strchr(" .-:", *text) || seen[(unsigned char)*text])
			continue;
		seen[(unsigned char)*text] = true;
		distinct++;
	}
	return distinct < DISTINCT_MIN;
}

static const char *number(const char *text)
{
	return text && !is_placeholder(text) && !is_monotonous(text) ? text : NULL;
}

static char *hashed(char kind, const char *one, const char *two)
{
	struct sha256 s;
	char hex[SHA256_HEX_SIZE];

	sha256_init(&s);
	sha256_add_text(&s, "assay machine 1");
	sha256_add_text(&s, one);
	sha256_add_text(&s, two);
	sha256_hex(&s, hex);
	return xasprintf("%c:%.16s", kind, hex);
}

char *machine_of(const char *board_serial, const char *product_uuid, const char *machine_id)
{
	const char *serial = number(board_serial), *uuid = number(product_uuid);

	if (serial || uuid)
		return hashed('b', serial, uuid);
	machine_id = number(machine_id);
	return machine_id ? hashed('m', machine_id, NULL) : NULL;
}

static char *read_line(const char *path)
{
	CLEANUP(freep) char *full = xasprintf("%s%s", paths_sysroot(), path);
	char *text = NULL;

	return file_read_line(AT_FDCWD, full, &text) < 0 ? NULL : text;
}

char *machine_read(void)
{
	CLEANUP(freep) char *serial = read_line("/sys/class/dmi/id/board_serial");
	CLEANUP(freep) char *uuid = read_line("/sys/class/dmi/id/product_uuid");
	CLEANUP(freep) char *id = read_line("/etc/machine-id");

	return machine_of(serial, uuid, id);
}

bool machine_differs(const char *a, const char *b)
{
	return a && b && a[0] && a[0] == b[0] && strcmp(a, b) != 0;
}
