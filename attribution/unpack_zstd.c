/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <zstd.h>

#include "attribution/unpack.h"
#include "lib/base/err.h"

enum { WINDOW_LOG_MAX = 27 }; /* 128 MiB, the most that zstd -19 and --ultra -22 need */

static int zstd_step(void *state, struct unpack_piece *piece, struct err *err)
{
	ZSTD_inBuffer in = { piece->in, piece->n_in, 0 };
	ZSTD_outBuffer out = { piece->out, piece->n_out, 0 };
	size_t n = ZSTD_decompressStream(state, &out, &in);

	if (ZSTD_isError(n))
		return err_set(err, EINVAL, "broken zstd: %s", ZSTD_getErrorName(n));
	piece->in += in.pos;
	piece->n_in -= in.pos;
	piece->out += out.pos;
	piece->n_out -= out.pos;
	piece->ended = n == 0;
	return 0;
}

static void zstd_free(void *state)
{
	(void)ZSTD_freeDStream(state);
}

int unpack_zstd(struct unpack *ret_unpack, struct err *err UNUSED)
{
	ZSTD_DStream *stream = ZSTD_createDStream();

	if (!stream)
		return -ENOMEM;
	(void)ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	*ret_unpack = (struct unpack){ zstd_step, zstd_free, stream };
	return 0;
}
