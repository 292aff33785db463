/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer with a hard limit, for input from outside.
 *
 * Invariants: once something was appended, `data` is never NULL and is NUL-terminated one past
 * `len`; `len <= limit`. A failure (limit exceeded, out of memory) is sticky: later appends do
 * nothing, so it is enough to check strbuf_ok() once.
 */
#pragma once

#include "lib/base/macro.h"

struct strbuf {
	char *data; /* owned; may be NULL while empty */
	size_t len; /* bytes in use, without the NUL */
	size_t alloc;
	size_t limit; /* most bytes it may ever hold */
	int error;    /* 0, E2BIG or ENOMEM; sticky */
};

#define STRBUF_INIT(max)       \
	{                      \
		.limit = (max) \
	}

/* Append `n` bytes. Returns 0 or the sticky negative errno. */
int strbuf_add(struct strbuf *sb, const void *bytes, size_t n);

/*
 * Make room for `more` bytes, so that appending them need not reallocate. Returns as strbuf_add().
 */
int strbuf_reserve(struct strbuf *sb, size_t more);

/* Append a C string. */
int strbuf_puts(struct strbuf *sb, const char *text);

/* Append formatted text (of any length within the limit). */
int strbuf_printf(struct strbuf *sb, const char *fmt, ...) PRINTF(2, 3);

/* Remove the first `n` bytes (all if there are fewer). */
void strbuf_consume(struct strbuf *sb, size_t n);

/* The text so far, never NULL. Borrowed until the next call on `sb`. */
const char *strbuf_text(const struct strbuf *sb);

/* True unless something failed. */
bool strbuf_ok(const struct strbuf *sb);

/* Free the bytes; `sb` is then empty, with the same limit and no error. */
void strbuf_release(struct strbuf *sb);
