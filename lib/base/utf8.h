/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 that strangers send and terminals show. What drives a terminal, or
 * what a person cannot see, is no text: control characters, marks that turn
 * the direction of writing, characters without a glyph.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* Bytes of the character at `text` (NUL-terminated), 0 when it is not well-formed UTF-8. */
size_t utf8_length(const char *text);

/* Its code point; `length` is what utf8_length() said, 1 to 4. */
uint32_t utf8_point(const char *text, size_t length);

/* True when a terminal or a reader could be misled by it. */
bool utf8_is_unsafe(uint32_t point);

/* Columns of a terminal that it takes: 0 for combining marks, 2 for wide ones. */
unsigned utf8_columns(uint32_t point);

/*
 * Bytes of whatever stands at `text` and the columns that it takes when shown:
 * what is broken or unsafe is shown as one '?', and `*ret_shown` says so with
 * false.
 */
size_t utf8_next(const char *text, unsigned *ret_columns, bool *ret_shown);

/* `text` (NULL is "") with '?' for all that is broken or unsafe: one line. New memory. */
char *utf8_clean(const char *text);

/* Likewise within `text`, which may be NULL; it gets no longer. Returns it. */
char *utf8_clean_in_place(char *text);

/* Replace what is not printable ASCII by '?', in place. Returns `text`, which may be NULL. */
char *ascii_clean(char *text);
