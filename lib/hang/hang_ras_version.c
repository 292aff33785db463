/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_ras_version.h"

#include <stdlib.h>

enum { PARTS = 3, DIGITS_MAX = 3, MINOR_MAX = 99, DECIMAL = 10, MAJOR = 10000, MINOR = 100 };

static const struct hang_ras_version versions[] = {
	{ 22403, 22501, true, false, NULL },
	{ 22602, 22803, false, false,
	  "its report corrupts memory of the job when a rank is missing (nccl issue 1762)" },
	{ 22807, 22809, true, true,
	  "when a rank is missing from a job of several communicators, its report reads beyond its "
	  "data (nccl issue 1762)" },
	{ 22902, 22907, true, true, NULL },
	{ 23003, 23007, true, true, NULL },
};

unsigned hang_ras_version_number(const char *text)
{
	unsigned parts[PARTS];
	size_t i;

	for (i = 0; i < PARTS; i++) {
		const size_t digits = strspn(text, "0123456789");

		if (digits == 0 || digits > DIGITS_MAX)
			return 0;
		parts[i] = (unsigned)strtoul(text, NULL, DECIMAL);
		if (parts[i] > MINOR_MAX || (i + 1 < PARTS && text[digits] != '.'))
			return 0;
		text += digits + (i + 1 < PARTS);
	}
	/* "2.28.9rc1" is not 2.28.9; "2.28.9+cuda13.0" is. */
	return *text && *text != '+' ? 0 : parts[0] * MAJOR + parts[1] * MINOR + parts[2];
}

const struct hang_ras_version *hang_ras_version_find(unsigned version)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(versions); i++) {
		if (version >= versions[i].first && version <= versions[i].last)
			return &versions[i];
	}
	return NULL;
}
