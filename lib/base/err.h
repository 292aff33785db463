/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error with its context, filled by the callee, owned by the caller (on its stack). It never
 * allocates, so that reporting an error can neither fail nor leak.
 *
 * A function that fails returns a negative errno. If a person will read the reason, its last
 * parameter is a `struct err *` (may be NULL). Success leaves `err` untouched; failure leaves every
 * `ret_` output untouched.
 *
 * A message is one line of UTF-8: quoted control characters and invalid bytes are replaced, and a
 * long message is truncated.
 *
 * A sick device is not an error: it is a sample. Errors are for work not done.
 */
#pragma once

#include "lib/base/macro.h"

enum { ERR_MSG_SIZE = 512 };

struct err {
	int code;		/* positive errno; 0 while nothing is set */
	char msg[ERR_MSG_SIZE]; /* what was attempted, outermost first */
};

#define ERR_INIT                     \
	{                            \
		.code = 0, .msg = "" \
	}

/* Set the message of `err` (may be NULL); returns -`code`. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF(3, 4);

/* Like err_set(), with ": " and strerror(`code`) appended. */
int err_errno(struct err *err, int code, const char *fmt, ...) PRINTF(3, 4);

/*
 * Prepend "context: " to `err` (may be NULL); returns `r` unchanged. An `err` that was never set
 * gets the text of errno -`r`.
 */
int err_wrap(struct err *err, int r, const char *fmt, ...) PRINTF(3, 4);
