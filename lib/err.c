/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*
 * The well-formed byte sequences (table 3-7 of Unicode 15): range of the first
 * byte, of the second, and how many; all further ones are 80..bf.
 */
static const struct {
	unsigned char first, first_end, second, second_end, length;
} utf8_rows[] = {
	{ 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

/* Bytes of the UTF-8 character at `s` (NUL-terminated), 0 when there is none. */
static size_t utf8_length(const unsigned char *s)
{
	size_t row, i;

	for (row = 0; row < ARRAY_SIZE(utf8_rows) && s[0] > utf8_rows[row].first_end; row++)
		;
	if (row == ARRAY_SIZE(utf8_rows) || s[0] < utf8_rows[row].first)
		return 0;
	if (s[1] < utf8_rows[row].second || s[1] > utf8_rows[row].second_end)
		return 0;
	for (i = 2; i < utf8_rows[row].length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return utf8_rows[row].length;
}

/*
 * One line of UTF-8 whatever was quoted in it: file names and input may hold
 * control characters, and the cut at the end may fall inside a character.
 */
static void make_presentable(char *msg)
{
	unsigned char *at = (unsigned char *)msg;

	while (*at) {
		size_t n = utf8_length(at);

		if (n == 1 && (*at < ' ' || *at == 0x7f))
			*at = strchr("\t\r\n", *at) ? ' ' : '?';
		else if (n == 0)
			*at = '?';
		at += n ? n : 1;
	}
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -code;
	err->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	make_presentable(err->msg);
	return -code;
}

int err_errno(struct err *err, int code, const char *fmt, ...)
{
	char what[ERR_MSG_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(err, code, "%s: %s", what, strerror(code));
}

int err_wrap(struct err *err, int r, const char *fmt, ...)
{
	char context[ERR_MSG_SIZE];
	char inner[ERR_MSG_SIZE];
	va_list ap;

	if (!err)
		return r;
	va_start(ap, fmt);
	(void)vsnprintf(context, sizeof(context), fmt, ap);
	va_end(ap);
	if (!err->msg[0])
		return err_errno(err, -r, "%s", context);
	memcpy(inner, err->msg, sizeof(inner));
	(void)err_set(err, err->code ? err->code : -r, "%s: %s", context, inner);
	return r;
}
