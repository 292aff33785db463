/* SPDX-License-Identifier: Apache-2.0 */
/* Lexicographic order of counts; decides ties. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static inline bool counts_come_first(const size_t *a, const size_t *b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i];
	return false;
}
