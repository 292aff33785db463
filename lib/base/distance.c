/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/distance.h"

#include <string.h>

#include "lib/base/macro.h"

enum { FEWEST = 2, PART = 3 };

/* Computes the next row of the distance table from the rows of one and two bytes before. */
static void next_row(const char *a, const char *b, size_t i, unsigned (*rows)[DISTANCE_NAME_MAX + 1])
{
	unsigned *row = rows[i % 3], *before = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];
	size_t m = strnlen(b, DISTANCE_NAME_MAX), j;

	row[0] = (unsigned)i;
	for (j = 1; j <= m; j++) {
		unsigned replaced = before[j - 1] + (a[i - 1] != b[j - 1]);
		unsigned moved = MIN(before[j], row[j - 1]) + 1;

		row[j] = MIN(replaced, moved);
		if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
			row[j] = MIN(row[j], two[j - 2] + 1);
	}
}

unsigned distance_between(const char *a, const char *b)
{
	unsigned rows[3][DISTANCE_NAME_MAX + 1] = { 0 };
	size_t n = strnlen(a, DISTANCE_NAME_MAX), m = strnlen(b, DISTANCE_NAME_MAX), i;

	for (i = 0; i <= m; i++)
		rows[0][i] = (unsigned)i;
	for (i = 1; i <= n; i++)
		next_row(a, b, i, rows);
	return rows[n % 3][m];
}

bool distance_is_near(const char *a, const char *b)
{
	const size_t most = strlen(a) / PART;

	return distance_between(a, b) <= MAX(most, (size_t)FEWEST);
}
