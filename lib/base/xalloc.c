/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/xalloc.h"

#include <stdio.h>

static void *check(void *ptr)
{
	if (ptr)
		return ptr;
	(void)fputs("assay: out of memory\n", stderr);
	abort();
}

void *xcalloc(size_t n, size_t size)
{
	return check(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *ptr, size_t n, size_t size)
{
	return check(reallocarray(ptr, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *text)
{
	return text ? check(strdup(text)) : NULL;
}

char *xstrndup(const char *text, size_t n)
{
	return check(strndup(text, n));
}

char *xalloc_copy(const void *bytes, size_t n)
{
	char *copy = check(malloc(n + 1));

	if (n)
		memcpy(copy, bytes, n);
	copy[n] = '\0';
	return copy;
}

char *xasprintf(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&text, fmt, ap);
	va_end(ap);
	return check(r < 0 ? NULL : text);
}
