/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression of report bodies for the store: gzip if received so, else zstd if built in, else
 * uncompressed. The codings available depend on the files built: gzip.c or gzip_none.c, zstd.c or
 * zstd_none.c.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct strbuf;

/* Stored as numbers: add, never change. */
enum pack_coding { PACK_PLAIN, PACK_GZIP, PACK_ZSTD };

/* Borrowed bytes. */
struct packed {
	int coding; /* enum pack_coding */
	const void *bytes;
	size_t length;
};

/*
 * Append the text of `packed` to `text`. -E2BIG if it exceeds the limit of `text` (decompression
 * bombs are not unpacked further), -EINVAL if the bytes are broken, -EOPNOTSUPP if the coding is
 * not built in, -ENOMEM.
 */
int pack_open(const struct packed *packed, struct strbuf *text, struct err *err);

/*
 * Compress `length` bytes of text with the best coding available. With PACK_PLAIN the bytes in
 * `ret_packed` are those of `text`, else they are `ret_memory`, newly allocated.
 */
int pack_close(const char *text, size_t length, void **ret_memory, struct packed *ret_packed);

/* The codings, one per file. Same conventions. */
int gzip_open(const struct packed *packed, struct strbuf *text, struct err *err);
int zstd_open(const struct packed *packed, struct strbuf *text, struct err *err);

/* -EOPNOTSUPP if not built in, -ENOSPC if the result would not be smaller. */
int zstd_close(const char *text, size_t length, void **ret_memory, size_t *ret_length);
