/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of reports, small enough to keep: gzip as it came in, else packed with
 * zstd where that is built in, else as they are. Which codings there are is a
 * matter of the files built: gzip.c or gzip_none.c, zstd.c or zstd_none.c.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct strbuf;

/* In the store as numbers: add, never change. */
enum pack_coding { PACK_PLAIN, PACK_GZIP, PACK_ZSTD };

/* Bytes that belong to somebody else. */
struct packed {
	int coding; /* enum pack_coding */
	const void *bytes;
	size_t length;
};

/*
 * Append the text of `packed` to `text`. -E2BIG past the limit of `text` (a
 * bomb is never unpacked further), -EINVAL when the bytes are broken,
 * -EOPNOTSUPP when the coding is not built in, -ENOMEM.
 */
int pack_open(const struct packed *packed, struct strbuf *text, struct err *err);

/*
 * Pack `length` bytes of text the best way there is. With PACK_PLAIN in
 * `ret_packed` its bytes are those of `text`; else they are `ret_memory`, new.
 */
int pack_close(const char *text, size_t length, void **ret_memory, struct packed *ret_packed);

/* The codings, each in its own file. Same rules. */
int gzip_open(const struct packed *packed, struct strbuf *text, struct err *err);
int zstd_open(const struct packed *packed, struct strbuf *text, struct err *err);

/* -EOPNOTSUPP when it is not built in, -ENOSPC when it would not become smaller. */
int zstd_close(const char *text, size_t length, void **ret_memory, size_t *ret_length);
