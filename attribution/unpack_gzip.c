/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "attribution/unpack.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { WINDOW_GZIP_ONLY = 15 + 16 }; /* zlib: the largest window, a gzip header required */

struct gzip {
	z_stream z;
	bool ended; /* a member is complete; another may follow */
};

static int gzip_step(void *state, struct unpack_piece *piece, struct err *err)
{
	struct gzip *gzip = state;
	z_stream *z = &gzip->z;
	int status;

	if (gzip->ended && inflateReset(z) != Z_OK)
		return -ENOMEM;
	/* zlib only reads it, though the type is not const. */
	memcpy(&z->next_in, &piece->in, sizeof(z->next_in));
	z->avail_in = (uInt)MIN(piece->n_in, (size_t)UINT_MAX);
	z->next_out = piece->out;
	z->avail_out = (uInt)MIN(piece->n_out, (size_t)UINT_MAX);
	status = inflate(z, Z_NO_FLUSH);
	if (status == Z_MEM_ERROR)
		return -ENOMEM;
	if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
		return err_set(err, EINVAL, "broken gzip: %s",
			       z->msg ? z->msg : "it cannot be decompressed");
	piece->n_in -= (size_t)(z->next_in - piece->in);
	piece->in = z->next_in;
	piece->n_out -= (size_t)(z->next_out - piece->out);
	piece->out = z->next_out;
	piece->ended = gzip->ended = status == Z_STREAM_END;
	return 0;
}

static void gzip_free(void *state)
{
	struct gzip *gzip = state;

	(void)inflateEnd(&gzip->z);
	free(gzip);
}

int unpack_gzip(struct unpack *ret_unpack, struct err *err UNUSED)
{
	CLEANUP(freep) struct gzip *gzip = xcalloc(1, sizeof(*gzip));

	if (inflateInit2(&gzip->z, WINDOW_GZIP_ONLY) != Z_OK)
		return -ENOMEM;
	*ret_unpack = (struct unpack){ gzip_step, gzip_free, TAKE(gzip) };
	return 0;
}
