/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/base64.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

/* True if the rest is only `n` times '=' and line ends. */
static bool ends_with_padding(const char *text, size_t n)
{
	for (; *text; text++) {
		if (*text == '=' && n > 0)
			n--;
		else if (!is_line_end(*text))
			return false;
	}
	return n == 0;
}

int base64_decode(const char *text, char **ret_bytes, size_t *ret_len)
{
	CLEANUP(freep) char *bytes = malloc(strlen(text) / 4 * 3 + 3);
	uint32_t bits = 0;
	size_t n = 0, len = 0; /* characters read, bytes written */

	if (!bytes)
		return -ENOMEM;
	for (; *text && *text != '='; text++) {
		const char *digit = strchr(alphabet, *text);

		if (is_line_end(*text))
			continue;
		if (!digit)
			return -EINVAL;
		bits = bits << 6 | (uint32_t)(digit - alphabet);
		if (n++ % 4)
			bytes[len++] = (char)(bits >> (6 - 2 * ((n - 1) % 4)) & 0xff);
	}
	if (n % 4 == 1 || !ends_with_padding(text, (4 - n % 4) % 4))
		return -EINVAL;
	bytes[len] = '\0';
	*ret_bytes = TAKE(bytes);
	*ret_len = len;
	return 0;
}

char *base64_encode(const void *bytes, size_t len)
{
	const unsigned char *in = bytes;
	char *text = xcalloc((len + 2) / 3 * 4 + 1, 1);
	size_t i, n = 0, k;

	for (i = 0; i < len; i += 3) {
		const size_t left = MIN(len - i, (size_t)3);
		uint32_t bits = 0;

		for (k = 0; k < 3; k++)
			bits = bits << 8 | (k < left ? in[i + k] : 0U);
		for (k = 0; k < 4; k++)
			text[n++] = k <= left ? alphabet[bits >> (18 - 6 * k) & 63] : '=';
	}
	return text;
}
