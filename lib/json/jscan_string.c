/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of a scan: most are a run of plain bytes, and are borrowed unchanged. */
#include <errno.h>

#include "lib/base/pool.h"
#include "lib/json/jscan.h"
#include "lib/json/swar.h"

enum { HEX_DIGITS = 4, SURROGATE_HIGH = 0xd800, SURROGATE_LOW = 0xdc00, SURROGATE_END = 0xe000 };

/* Bytes that stand for themselves: ASCII except control bytes, quote and backslash. */
static const bool plain[256] = {
	[0x20 ... '"' - 1] = true,
	['"' + 1 ... '\\' - 1] = true,
	['\\' + 1 ... 0x7f] = true,
};

/*
 * Number of plain bytes at the beginning of the eight at `at`. Subtracting from each byte sets the
 * high bit of smaller ones; a borrow only affects later bytes, so the first hit is correct.
 */
static size_t plain_of_eight(const char *at)
{
	const uint64_t bytes = swar_load(at), quote = bytes ^ SWAR_EACH('"'),
		       backslash = bytes ^ SWAR_EACH('\\');
	const uint64_t odd = (bytes | (bytes - SWAR_EACH(0x20)) | (quote - SWAR_EACH(1)) |
			      (backslash - SWAR_EACH(1))) &
			     SWAR_EACH(0x80);

	return odd ? (size_t)__builtin_ctzll(odd) / 8 : SWAR_BYTES;
}

/* The end of the plain bytes from `at` on. */
static const char *skip_plain(const char *at, const char *end)
{
	size_t n = SWAR_BYTES;

	while (n == SWAR_BYTES && end - at >= SWAR_BYTES) {
		n = plain_of_eight(at);
		at += n;
	}
	while (n == SWAR_BYTES && at < end && plain[(unsigned char)*at])
		at++;
	return at;
}

/* Well-formed sequences of more than one byte (Unicode 15, table 3-7). */
static const struct {
	unsigned char first, last, second_min, second_max;
	size_t length;
} sequences[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

/* Length of the sequence at `at`; 0 if it is invalid. */
static size_t sequence_length(const char *at, const char *end)
{
	const unsigned char *byte = (const unsigned char *)at;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(sequences); i++) {
		if (byte[0] >= sequences[i].first && byte[0] <= sequences[i].last)
			break;
	}
	if (i == ARRAY_SIZE(sequences) || (size_t)(end - at) < sequences[i].length ||
	    byte[1] < sequences[i].second_min || byte[1] > sequences[i].second_max)
		return 0;
	for (j = 2; j < sequences[i].length; j++) {
		if ((byte[j] & 0xc0) != 0x80)
			return 0;
	}
	return sequences[i].length;
}

/* The number of "\uXXXX" at `at`; -EINVAL if it is invalid. */
static int escaped_unit(const char *at, const char *end)
{
	int unit = 0, i;

	if (end - at < 2 + HEX_DIGITS || at[0] != '\\' || at[1] != 'u')
		return -EINVAL;
	for (i = 2; i < 2 + HEX_DIGITS; i++) {
		char c = at[i];

		unit *= 16;
		if (c >= '0' && c <= '9')
			unit += c - '0';
		else if (c >= 'a' && c <= 'f')
			unit += c - 'a' + 10;
		else if (c >= 'A' && c <= 'F')
			unit += c - 'A' + 10;
		else
			return -EINVAL;
	}
	return unit;
}

static char *put_utf8(char *to, unsigned code)
{
	static const struct {
		unsigned below, first;
		int shift;
	} rows[] = {
		{ 0x80, 0, 0 }, { 0x800, 0xc0, 6 }, { 0x10000, 0xe0, 12 }, { 0x110000, 0xf0, 18 }
	};
	int shift;
	size_t i = 0;

	while (code >= rows[i].below)
		i++;
	*to++ = (char)(rows[i].first | code >> rows[i].shift);
	for (shift = rows[i].shift - 6; shift >= 0; shift -= 6)
		*to++ = (char)(0x80 | (code >> shift & 0x3f));
	return to;
}

/* Decodes one or two "\uXXXX" at `*at` to UTF-8 at `*to`. */
static int decode_units(const char **at, const char *end, char **to)
{
	int high = escaped_unit(*at, end), low;
	unsigned code = (unsigned)high;

	if (high <= 0 || (high >= SURROGATE_LOW && high < SURROGATE_END))
		return -EINVAL;
	*at += 2 + HEX_DIGITS;
	if (high >= SURROGATE_HIGH && high < SURROGATE_LOW) {
		low = escaped_unit(*at, end);
		if (low < SURROGATE_LOW || low >= SURROGATE_END)
			return -EINVAL;
		*at += 2 + HEX_DIGITS;
		code = 0x10000 + ((code - SURROGATE_HIGH) << 10) + (unsigned)(low - SURROGATE_LOW);
	}
	*to = put_utf8(*to, code);
	return 0;
}

static int decode_escape(const char **at, const char *end, char **to)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (end - *at < 2)
		return -EINVAL;
	if ((*at)[1] == 'u')
		return decode_units(at, end, to);
	name = (*at)[1] ? strchr(names, (*at)[1]) : NULL;
	if (!name)
		return -EINVAL;
	*(*to)++ = values[name - names];
	*at += 2;
	return 0;
}

/* The closing quote of the string; escapes are not validated. */
static const char *find_end(const char *at, const char *end)
{
	while (at < end && *at != '"')
		at += *at == '\\' ? 2 : 1;
	return at < end ? at : NULL;
}

/* Strings with escapes: decoded they are never longer. */
static int decode(struct jscan *s, const char *begin, struct jtext *ret_text)
{
	const char *end = find_end(begin, s->end), *at = begin;
	char *text, *to;

	if (!end)
		return -EINVAL;
	text = to = pool_bytes(s->pool, (size_t)(end - begin));
	while (at < end) {
		size_t length = plain[(unsigned char)*at] ? 1 : 0;

		if (*at == '\\') {
			if (decode_escape(&at, end, &to) < 0)
				return -EINVAL;
			continue;
		}
		if (length == 0)
			length = sequence_length(at, end);
		if (length == 0)
			return -EINVAL;
		to = mempcpy(to, at, length);
		at += length;
	}
	s->at = end + 1;
	*ret_text = (struct jtext){ text, (size_t)(to - text) };
	return 0;
}

int jscan_string(struct jscan *s, struct jtext *ret_text)
{
	const char *begin, *at;

	if (jscan_peek(s) != '"')
		return -EINVAL;
	begin = s->at + 1;
	at = skip_plain(begin, s->end);
	if (at == s->end)
		return -EINVAL;
	if (*at != '"')
		return decode(s, begin, ret_text);
	s->at = at + 1;
	*ret_text = (struct jtext){ begin, (size_t)(at - begin) };
	return 0;
}
