/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/utf8.h"

#include "lib/base/xalloc.h"
#include "lib/sys/table.h"
#include "tests/unit/test.h"

static void what_could_drive_a_terminal_or_mislead_is_a_question_mark(void)
{
	static const struct {
		const char *text, *clean;
	} cases[] = {
		{ "gpu-17", "gpu-17" },
		{ "", "" },
		{ NULL, "" },
		{ "\033[31mred", "?[31mred" },
		{ "a\nb\tc\x7f", "a?b?c?" },
		{ "\xc2\x9b"
		  "31m",
		  "?31m" }, /* CSI of C1 */
		{ "\x9b"
		  "31m",
		  "?31m" },				/* the same as a lone byte */
		{ "\xe2\x80\xae", "?" },		/* right-to-left override */
		{ "\xe2\x81\xa6x\xe2\x81\xa9", "?x?" }, /* isolate */
		{ "\xe2\x80\x8b\xef\xbb\xbf", "??" },	/* zero width space, no-break */
		{ "\xf3\xa0\x81\x81", "?" },		/* tag */
		{ "\xc0\xaf", "??" },			/* overlong */
		{ "\xed\xa0\x80", "???" },		/* surrogate */
		{ "\xf4\x90\x80\x80", "????" },		/* past the last */
		{ "a\xe4", "a?" },			/* cut */
		{ "\xc3\xa9 \xe4\xbd\xa0 \xf0\x9f\x98\x80",
		  "\xc3\xa9 \xe4\xbd\xa0 \xf0\x9f\x98\x80" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *clean = utf8_clean(cases[i].text);

		CHECK_STR(clean, cases[i].clean);
	}
}

static void columns_are_those_of_a_terminal(void)
{
	static const struct {
		const char *text;
		size_t columns;
	} cases[] = {
		{ "abc", 3 },
		{ "\xc3\xa9", 1 },		   /* e acute */
		{ "e\xcc\x81", 1 },		   /* e and a combining acute */
		{ "\xe4\xbd\xa0\xe5\xa5\xbd", 4 }, /* two Han */
		{ "\xea\xb0\x80", 2 },		   /* Hangul */
		{ "\xef\xbc\xa1", 2 },		   /* fullwidth A */
		{ "\xef\xbd\xb1", 1 },		   /* halfwidth a */
		{ "\xf0\x9f\x98\x80", 2 },	   /* a face */
		{ "\033\xff", 2 },		   /* two question marks */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(text_columns(cases[i].text), cases[i].columns);
}

/* The tables are searched by halves: each point on its own must come out the same. */
static void every_point_is_either_unsafe_or_has_a_width(void)
{
	uint32_t point;
	size_t n_unsafe = 0, n_wide = 0, n_none = 0;

	for (point = 0; point < 0x110000; point++) {
		n_unsafe += utf8_is_unsafe(point);
		n_wide += utf8_columns(point) == 2;
		n_none += utf8_columns(point) == 0;
	}
	CHECK(utf8_is_unsafe(0) && utf8_is_unsafe(0x1f) && !utf8_is_unsafe(' '));
	CHECK(!utf8_is_unsafe('~') && utf8_is_unsafe(0x9f) && !utf8_is_unsafe(0xa1));
	CHECK(utf8_is_unsafe(0x10ffff));
	CHECK(n_unsafe > 4096 && n_wide > 80000 && n_none > 200 && n_none < 1000);
}

static const struct test tests[] = {
	TEST(what_could_drive_a_terminal_or_mislead_is_a_question_mark),
	TEST(columns_are_those_of_a_terminal),
	TEST(every_point_is_either_unsafe_or_has_a_width),
};

TEST_SUITE(tests);
