/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "controller/store/pack.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"

/* The fastest regular level; reports are text, which compresses well anyway. */
enum { LEVEL = 1 };

int zstd_open(const struct packed *packed, struct strbuf *text, struct err *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed->bytes, packed->length);
	char *memory;
	size_t n;
	int r;

	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR)
		return err_set(err, EINVAL, "broken zstd");
	if (size > text->limit)
		return err_set(err, E2BIG, "more than %zu bytes when decompressed", text->limit);
	memory = malloc((size_t)size + 1);
	if (!memory)
		return -ENOMEM;
	n = ZSTD_decompress(memory, (size_t)size, packed->bytes, packed->length);
	if (ZSTD_isError(n))
		r = err_set(err, EINVAL, "broken zstd: %s", ZSTD_getErrorName(n));
	else
		r = strbuf_add(text, memory, n);
	free(memory);
	return r;
}

int zstd_close(const char *text, size_t length, void **ret_memory, size_t *ret_length)
{
	static ZSTD_CCtx *context; /* allocated once: setting it up costs as much as a small text */
	CLEANUP(freep) void *memory = NULL;
	size_t n;

	if (length < 64)
		return -ENOSPC;
	if (!context)
		context = ZSTD_createCCtx();
	memory = malloc(length);
	if (!memory || !context)
		return -ENOMEM;
	n = ZSTD_compressCCtx(context, memory, length, text, length, LEVEL);
	if (ZSTD_isError(n) || n >= length)
		return -ENOSPC;
	*ret_memory = TAKE(memory);
	*ret_length = n;
	return 0;
}
