/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { STRBUF_FIRST = 256 };

int strbuf_reserve(struct strbuf *sb, size_t more)
{
	size_t want;
	char *data;

	if (sb->error)
		return -sb->error;
	if (more > sb->limit || sb->len > sb->limit - more) {
		sb->error = E2BIG;
		return -E2BIG;
	}
	if (sb->len + more + 1 <= sb->alloc)
		return 0;
	want = MAX(sb->alloc, (size_t)STRBUF_FIRST);
	while (want < sb->len + more + 1)
		want *= 2;
	data = realloc(sb->data, want);
	if (!data) {
		sb->error = ENOMEM;
		return -ENOMEM;
	}
	sb->data = data;
	sb->alloc = want;
	return 0;
}

int strbuf_add(struct strbuf *sb, const void *bytes, size_t n)
{
	int r = strbuf_reserve(sb, n);

	if (r < 0)
		return r;
	if (n)
		memcpy(sb->data + sb->len, bytes, n);
	sb->len += n;
	sb->data[sb->len] = '\0';
	return 0;
}

int strbuf_puts(struct strbuf *sb, const char *text)
{
	return strbuf_add(sb, text, strlen(text));
}

int strbuf_printf(struct strbuf *sb, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		sb->error = ENOMEM;
		return -ENOMEM;
	}
	r = strbuf_add(sb, text, (size_t)n);
	free(text);
	return r;
}

void strbuf_consume(struct strbuf *sb, size_t n)
{
	if (!sb->data)
		return;
	n = MIN(n, sb->len);
	memmove(sb->data, sb->data + n, sb->len - n + 1);
	sb->len -= n;
}

const char *strbuf_text(const struct strbuf *sb)
{
	return sb->data ? sb->data : "";
}

bool strbuf_ok(const struct strbuf *sb)
{
	return sb->error == 0;
}

void strbuf_release(struct strbuf *sb)
{
	free(sb->data);
	*sb = (struct strbuf)STRBUF_INIT(sb->limit);
}
