/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/jwt.h"

#include "lib/base/xalloc.h"

static char *encode(const char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789-_";
	char *out = xcalloc(strlen(text) * 2 + 2, 1);
	unsigned bits = 0, n_bits = 0;
	size_t n = 0;

	for (; *text; text++) {
		bits = bits << 8 | (unsigned char)*text;
		for (n_bits += 8; n_bits >= 6; n_bits -= 6)
			out[n++] = digits[bits >> (n_bits - 6) & 63];
	}
	if (n_bits > 0)
		out[n++] = digits[bits << (6 - n_bits) & 63];
	return out;
}

char *jwt_of(const char *claims)
{
	CLEANUP(freep) char *middle = encode(claims);

	return xasprintf("eyJhbGciOiJFUzI1NiJ9.%s.c2lnbmF0dXJl", middle);
}
