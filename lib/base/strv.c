/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strv.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

void strv_free(char **strv)
{
	size_t i;

	for (i = 0; strv && strv[i]; i++)
		free(strv[i]);
	free(strv);
}

size_t strv_len(char *const *strv)
{
	size_t n = 0;

	while (strv && strv[n])
		n++;
	return n;
}

char **strv_copy(char *const *strv)
{
	const size_t n = strv_len(strv);
	char **copy = xcalloc(n + 1, sizeof(*copy));
	size_t i;

	for (i = 0; i < n; i++)
		copy[i] = xstrdup(strv[i]);
	return copy;
}
