/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/utf8.h"

/*
 * Makes the message one line of valid UTF-8: quoted file names and input may contain control
 * characters, and truncation may cut a character in two.
 */
static void make_presentable(char *msg)
{
	char *at = msg;

	while ((at = strpbrk(at, "\t\r\n")))
		*at = ' ';
	(void)utf8_clean_in_place(msg);
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
