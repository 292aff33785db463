/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/err_tail.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { REASON_MAX = 300 };

void err_tail_add(struct err_tail *tail, const char *bytes, size_t n)
{
	size_t add = MIN(n, sizeof(tail->bytes));
	size_t keep = MIN(tail->len, sizeof(tail->bytes) - add);

	if (add == 0)
		return;
	memmove(tail->bytes, tail->bytes + tail->len - keep, keep);
	memcpy(tail->bytes + keep, bytes + n - add, add);
	tail->len = keep + add;
}

static bool is_continuation(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/*
 * Length of the UTF-8 character at `p`, 0 if invalid: Unicode, table 3-7 (no overlong forms, no
 * surrogates, nothing above U+10FFFF).
 */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	static const struct {
		unsigned char first, last;	      /* lead byte */
		unsigned char second_min, second_max; /* second byte */
		unsigned char length;
	} rows[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	size_t i, k;

	if (p[0] < 0x80)
		return 1;
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (p[0] >= rows[i].first && p[0] <= rows[i].last)
			break;
	if (i == ARRAY_SIZE(rows) || n < rows[i].length)
		return 0;
	if (p[1] < rows[i].second_min || p[1] > rows[i].second_max)
		return 0;
	for (k = 2; k < rows[i].length; k++)
		if (!is_continuation(p[k]))
			return 0;
	return rows[i].length;
}

static bool is_control(unsigned char c)
{
	return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f;
}

char *text_clean(const char *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;
	char *text = xcalloc(n + 1, 1);
	size_t at = 0, i = 0;

	while (i < n && i < 3 && is_continuation(p[i]))
		i++;
	while (i < n) {
		size_t length = utf8_length(p + i, n - i);

		if (length == 0 || is_control(p[i])) {
			text[at++] = '?';
			i++;
			continue;
		}
		memcpy(text + at, p + i, length);
		at += length;
		i += length;
	}
	return text;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Trim white space at both ends; advances `*start`, returns the length. */
static size_t trim(const char *bytes, size_t n, size_t *start)
{
	while (n > *start && is_blank(bytes[n - 1]))
		n--;
	while (n > *start && is_blank(bytes[*start]))
		++*start;
	return n - *start;
}

char *err_tail_text(const struct err_tail *tail)
{
	size_t start = 0;
	size_t n = trim(tail->bytes, tail->len, &start);

	return n ? text_clean(tail->bytes + start, n) : NULL;
}

char *err_tail_last_line(const struct err_tail *tail)
{
	size_t start = 0;
	size_t n = trim(tail->bytes, tail->len, &start);
	size_t line = start + n;

	while (line > start && tail->bytes[line - 1] != '\n')
		line--;
	n = start + n - line;
	if (n > REASON_MAX)
		for (n = REASON_MAX; n > 0 && is_continuation((unsigned char)tail->bytes[line + n]);)
			n--;
	return n ? text_clean(tail->bytes + line, n) : NULL;
}
