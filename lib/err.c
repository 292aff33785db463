/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the UTF-8 character at `s`, 0 when there is none. */
static size_t utf8_length(const unsigned char *s)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	size_t i;

	if (s[0] > 0xf4 || (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
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
