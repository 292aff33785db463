/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_gzip.h"

#define ZLIB_CONST
#include <limits.h>
#include <stdlib.h>

#include <zlib.h>

#include "lib/base/xalloc.h"

/* + 16: with a gzip header; otherwise zlib's defaults. */
enum { WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };

char *api_gzip(const char *bytes, size_t length, int level, size_t *ret_length)
{
	CLEANUP(freep) char *packed = length > 0 && length <= UINT_MAX ? malloc(length) : NULL;
	z_stream z = { .next_in = (const Bytef *)bytes, .avail_in = (uInt)length };
	int r;

	if (!packed || deflateInit2(&z, level, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
				    Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	z.next_out = (Bytef *)packed;
	z.avail_out = (uInt)length - 1; /* fails if it is not smaller */
	r = deflate(&z, Z_FINISH);
	*ret_length = z.total_out;
	(void)deflateEnd(&z);
	return r == Z_STREAM_END ? TAKE(packed) : NULL;
}
