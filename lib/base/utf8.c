/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/utf8.h"

#include "lib/base/xalloc.h"

/*
 * Well-formed byte sequences (table 3-7 of Unicode 15): the ranges of the first and second byte,
 * and the length; all further bytes are 80..bf.
 */
static const struct {
	unsigned char first, first_end, second, second_end, length;
} rows[] = {
	{ 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

struct range {
	uint32_t first, last;
};

/*
 * Categories Cc, Cf, Zl, Zp, blank letters, variation selectors, tags and non-characters of Unicode
 * 15; sorted.
 */
static const struct range unsafe[] = {
	{ 0x00, 0x1f },	      { 0x7f, 0x9f },	     { 0xad, 0xad },	   { 0x34f, 0x34f },
	{ 0x600, 0x605 },     { 0x61c, 0x61c },	     { 0x6dd, 0x6dd },	   { 0x70f, 0x70f },
	{ 0x890, 0x891 },     { 0x8e2, 0x8e2 },	     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },    { 0x2028, 0x202e },   { 0x2060, 0x206f },
	{ 0x3164, 0x3164 },   { 0xfdd0, 0xfdef },    { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },    { 0xfffe, 0xffff },   { 0x110bd, 0x110bd },
	{ 0x110cd, 0x110cd }, { 0x13430, 0x1343f },  { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff }, { 0xffffe, 0x10ffff },
};

/* East Asian Wide and Fullwidth (UAX 11), with gaps between ranges closed; sorted. */
static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x2329, 0x232a },	  { 0x23e9, 0x23ec },
	{ 0x25fd, 0x25fe },   { 0x2614, 0x2615 },   { 0x2648, 0x2653 },	  { 0x26aa, 0x26ab },
	{ 0x26bd, 0x26be },   { 0x26d4, 0x26d4 },   { 0x2705, 0x2705 },	  { 0x274c, 0x274c },
	{ 0x2753, 0x2755 },   { 0x2757, 0x2757 },   { 0x2b1b, 0x2b1c },	  { 0x2b50, 0x2b50 },
	{ 0x2e80, 0x303e },   { 0x3041, 0x33ff },   { 0x3400, 0x4dbf },	  { 0x4e00, 0xa4cf },
	{ 0xa960, 0xa97c },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },	  { 0xfe10, 0xfe19 },
	{ 0xfe30, 0xfe6b },   { 0xff01, 0xff60 },   { 0xffe0, 0xffe6 },	  { 0x16fe0, 0x18cff },
	{ 0x1b000, 0x1b2ff }, { 0x1f004, 0x1f004 }, { 0x1f0cf, 0x1f0cf }, { 0x1f18e, 0x1f18e },
	{ 0x1f191, 0x1f19a }, { 0x1f200, 0x1f320 }, { 0x1f32d, 0x1f64f }, { 0x1f680, 0x1f6ff },
	{ 0x1f7e0, 0x1f7eb }, { 0x1f90c, 0x1f9ff }, { 0x1fa70, 0x1faff }, { 0x20000, 0x3fffd },
};

/* Combining marks of the scripts that names are written in; sorted. */
static const struct range combining[] = {
	{ 0x300, 0x36f },   { 0x483, 0x489 },	{ 0x591, 0x5bd },   { 0x610, 0x61a },
	{ 0x64b, 0x65f },   { 0x6d6, 0x6dc },	{ 0x93c, 0x93c },   { 0x941, 0x948 },
	{ 0xe31, 0xe31 },   { 0xe34, 0xe3a },	{ 0xe47, 0xe4e },   { 0x1ab0, 0x1aff },
	{ 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0x302a, 0x302d }, { 0x3099, 0x309a },
	{ 0xfe20, 0xfe2f },
};

static bool in(const struct range *ranges, size_t n, uint32_t point)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ranges[mid].last < point)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && ranges[low].first <= point;
}

size_t utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t row, i;

	for (row = 0; row < ARRAY_SIZE(rows) && s[0] > rows[row].first_end; row++)
		;
	if (row == ARRAY_SIZE(rows) || s[0] < rows[row].first)
		return 0;
	if (rows[row].length > 1 && (s[1] < rows[row].second || s[1] > rows[row].second_end))
		return 0;
	for (i = 2; i < rows[row].length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return rows[row].length;
}

uint32_t utf8_point(const char *text, size_t length)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t point = (unsigned char)text[0] & masks[length];
	size_t i;

	for (i = 1; i < length; i++)
		point = point << 6 | ((unsigned char)text[i] & 0x3f);
	return point;
}

bool utf8_is_unsafe(uint32_t point)
{
	return in(unsafe, ARRAY_SIZE(unsafe), point);
}

unsigned utf8_columns(uint32_t point)
{
	if (point < 0x300)
		return 1;
	if (in(combining, ARRAY_SIZE(combining), point))
		return 0;
	return in(wide, ARRAY_SIZE(wide), point) ? 2 : 1;
}

size_t utf8_next(const char *text, unsigned *ret_columns, bool *ret_shown)
{
	size_t length = utf8_length(text);
	uint32_t point = length ? utf8_point(text, length) : 0;

	*ret_shown = length && !utf8_is_unsafe(point);
	*ret_columns = *ret_shown ? utf8_columns(point) : 1;
	return length ? length : 1;
}

char *utf8_clean_in_place(char *text)
{
	char *from = text, *to = text;

	while (from && *from) {
		unsigned columns;
		bool shown;
		size_t n = utf8_next(from, &columns, &shown);

		if (shown)
			memmove(to, from, n);
		else
			*to = '?';
		to += shown ? n : 1;
		from += n;
	}
	if (to)
		*to = '\0';
	return text;
}

char *utf8_clean(const char *text)
{
	return utf8_clean_in_place(xstrdup(text ? text : ""));
}

char *ascii_clean(char *text)
{
	char *at;

	for (at = text; at && *at; at++) {
		if (*at < ' ' || *at > '~')
			*at = '?';
	}
	return text;
}
