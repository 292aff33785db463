/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/pack.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

static int plain_open(const struct packed *packed, struct strbuf *text, struct err *err)
{
	int r = strbuf_add(text, packed->bytes, packed->length);

	return r < 0 ? err_set(err, -r, "more than %zu bytes", text->limit) : 0;
}

int pack_open(const struct packed *packed, struct strbuf *text, struct err *err)
{
	switch ((enum pack_coding)packed->coding) {
	case PACK_PLAIN:
		return plain_open(packed, text, err);
	case PACK_GZIP:
		return gzip_open(packed, text, err);
	case PACK_ZSTD:
		return zstd_open(packed, text, err);
	}
	return err_set(err, EINVAL, "unknown coding %d", packed->coding);
}

int pack_close(const char *text, size_t length, void **ret_memory, struct packed *ret_packed)
{
	struct packed packed = { .coding = PACK_ZSTD };
	void *memory = NULL;
	int r = zstd_close(text, length, &memory, &packed.length);

	if (r == -ENOMEM)
		return r;
	packed.bytes = memory;
	if (r < 0)
		packed = (struct packed){ PACK_PLAIN, text, length };
	*ret_memory = memory;
	*ret_packed = packed;
	return 0;
}
