/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#include "controller/store/pack.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"

enum {
	PIECE = 16 * 1024,
	WINDOW_GZIP_ONLY = 15 + 16, /* zlib: largest window, gzip header required */
};

static void stream_end(z_stream *z)
{
	(void)inflateEnd(z);
}

static int inflate_all(z_stream *z, struct strbuf *text, struct err *err)
{
	unsigned char piece[PIECE];
	int z_status = Z_OK, r;

	while (z_status != Z_STREAM_END) {
		z->next_out = piece;
		z->avail_out = sizeof(piece);
		z_status = inflate(z, Z_NO_FLUSH);
		if (z_status == Z_MEM_ERROR)
			return -ENOMEM;
		if (z_status != Z_OK && z_status != Z_STREAM_END)
			return err_set(err, EINVAL, "broken gzip: %s",
				       z->msg ? z->msg : "it ends too early");
		r = strbuf_add(text, piece, sizeof(piece) - z->avail_out);
		if (r < 0)
			return err_set(err, -r, "more than %zu bytes when decompressed",
				       text->limit);
	}
	return z->avail_in ? err_set(err, EINVAL, "broken gzip: bytes after its end") : 0;
}

int gzip_open(const struct packed *packed, struct strbuf *text, struct err *err)
{
	CLEANUP(stream_end) z_stream z = { .avail_in = (uInt)packed->length };

	if (packed->length > UINT32_MAX)
		return err_set(err, E2BIG, "more gzip than can be decompressed");
	/* zlib does not write to it, although the type is not const. */
	memcpy(&z.next_in, &packed->bytes, sizeof(z.next_in));
	if (inflateInit2(&z, WINDOW_GZIP_ONLY) != Z_OK)
		return -ENOMEM;
	return inflate_all(&z, text, err);
}
