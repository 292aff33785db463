/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, 32 bits (draft-eastlake-fnv, section 2): for tables and comparisons, not for security. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint32_t fnv1a(const char *text, size_t n)
{
	uint32_t h = UINT32_C(2166136261);
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT32_C(16777619);
	return h;
}
