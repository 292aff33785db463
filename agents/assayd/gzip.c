/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/gzip.h"

#define ZLIB_CONST
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include <zlib.h>

#include "lib/base/xalloc.h"

/* + 16: gzip header. Uses little memory, and JSON still compresses well. */
enum { WINDOW_BITS = 13 + 16, MEMORY_LEVEL = 6 };

int gzip_pack(const char *bytes, size_t len, char **ret_packed, size_t *ret_len)
{
	CLEANUP(freep) Bytef *packed = NULL;
	z_stream z = { 0 };
	uLong bound;
	int r;

	if (len > UINT_MAX / 2)
		return -E2BIG;
	if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	bound = deflateBound(&z, (uLong)len);
	packed = malloc(bound);
	if (!packed) {
		(void)deflateEnd(&z);
		return -ENOMEM;
	}
	z.next_in = (const Bytef *)bytes;
	z.avail_in = (uInt)len;
	z.next_out = packed;
	z.avail_out = (uInt)bound;
	r = deflate(&z, Z_FINISH);
	*ret_len = z.total_out;
	(void)deflateEnd(&z);
	if (r != Z_STREAM_END)
		return -EIO;
	*ret_packed = (char *)TAKE(packed);
	return 0;
}
