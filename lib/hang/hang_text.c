/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_text.h"

#include "lib/base/macro.h"
#include "lib/base/utf8.h"

void hang_text_take(char *out, size_t size, const char *bytes, size_t n)
{
	size_t length = MIN(n, size - 1);

	/* Cut before a character, not inside: bytes 10xxxxxx continue one. */
	while (length < n && length > 0 && ((unsigned char)bytes[length] & 0xc0) == 0x80)
		length--;
	memcpy(out, bytes, length);
	out[length] = '\0';
	(void)utf8_clean_in_place(out);
}
