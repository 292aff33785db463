/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 from untrusted sources, shown on terminals. Control characters, marks that change the
 * writing direction and characters without a glyph count as unsafe: they can control a terminal, or
 * a person cannot see them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* Bytes of the character at `text` (NUL-terminated), 0 when it is not well-formed UTF-8. */
size_t utf8_length(const char *text);

/* Its code point; `length` (1 to 4) comes from utf8_length(). */
uint32_t utf8_point(const char *text, size_t length);

/* True if it could mislead a terminal or a reader. */
bool utf8_is_unsafe(uint32_t point);

/* How many terminal columns it takes: 0 for combining marks, 2 for wide characters. */
unsigned utf8_columns(uint32_t point);

/*
 * Length in bytes of the next character at `text`, and the columns it takes. Invalid or unsafe
 * bytes are shown as one '?', and `*ret_shown` is then false.
 */
size_t utf8_next(const char *text, unsigned *ret_columns, bool *ret_shown);

/*
 * A copy of `text` (NULL is "") on one line, with '?' for all that is invalid or unsafe. New
 * memory.
 */
char *utf8_clean(const char *text);

/* The same in place; the text never gets longer. Returns `text`, which may be NULL. */
char *utf8_clean_in_place(char *text);

/* Replace everything but printable ASCII by '?', in place. Returns `text`, which may be NULL. */
char *ascii_clean(char *text);
