/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/table.h"

#include <limits.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static const struct table_column columns[] = {
	{ "NAME", .min = 6 },
	{ "COUNT", .right = true, .leave = 1 },
	{ "WORDS", .min = 20, .wrap = true },
};

static void add(struct table *t, const char *name, const char *count, const char *words)
{
	struct table_row *row = table_add(t);

	row->cells[0] = xstrdup(name);
	row->cells[1] = xstrdup(count);
	row->cells[2] = xstrdup(words);
}

static char *print(const struct table *t, bool colour, unsigned width)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	table_print(t, out, colour, width);
	(void)fclose(out);
	return text;
}

static char *wrap(const char *words, unsigned indent, unsigned width)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	text_wrap(words, out, indent, width);
	(void)fclose(out);
	return text;
}

static void columns_are_as_wide_as_what_is_in_them(void)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	CLEANUP(freep) char *text = NULL;

	add(&t, "a", "7", "one two");
	add(&t, "longer name", "1234567", NULL);
	text = print(&t, false, UINT_MAX);
	CHECK_STR(text, "NAME           COUNT  WORDS\n"
			"a                  7  one two\n"
			"longer name  1234567\n");
}

static void what_may_be_cut_is_cut_and_what_may_go_goes(void)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	CLEANUP(freep) char *cut = NULL;
	CLEANUP(freep) char *less = NULL;

	add(&t, "a longer name", "12", "one two three four five six");
	cut = print(&t, false, 35);
	CHECK_STR(cut, "NAME    COUNT  WORDS\n"
		       "a lo..     12  one two three four\n"
		       "               five six\n");
	less = print(&t, false, 30);
	CHECK_STR(less, "NAME      WORDS\n"
			"a long..  one two three four\n"
			"          five six\n");
}

static void colour_is_only_there_when_asked_for(void)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = 1 };
	CLEANUP(freep) char *plain = NULL;
	CLEANUP(freep) char *painted = NULL;

	add(&t, "a", NULL, NULL);
	t.rows[0].paint = PAINT_BAD;
	plain = print(&t, false, 80);
	painted = print(&t, true, 80);
	CHECK_STR(plain, "NAME\na\n");
	CHECK_STR(painted, "\033[2mNAME\033[0m\n\033[1;31ma\033[0m\n");
}

static void a_note_stands_below_its_row(void)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = 1 };
	CLEANUP(freep) char *text = NULL;

	add(&t, "a", NULL, NULL);
	t.rows[0].note = xstrdup("why this is so bad and what to do");
	add(&t, "b", NULL, NULL);
	text = print(&t, false, 28);
	CHECK_STR(text, "NAME\na\n    why this is so bad and\n    what to do\nb\n");
}

static void control_characters_never_reach_a_terminal(void)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = 1 };
	CLEANUP(freep) char *text = NULL;

	/* C0, DEL and C1 (U+009B is CSI); U+00A0 and other letters stay. */
	add(&t, "a\033[31m\007\177\302\233\302\240\303\251", NULL, NULL);
	text = print(&t, false, UINT_MAX);
	CHECK_STR(text, "NAME\na?[31m???\302\240\303\251\n");
}

static void widths_count_letters_not_bytes(void)
{
	CHECK_EQ(text_columns(""), 0);
	CHECK_EQ(text_columns("abc"), 3);
	CHECK_EQ(text_columns("\303\251\342\202\254"), 2);
}

static void text_is_wrapped_at_blanks(void)
{
	static const struct {
		const char *text, *wrapped;
	} cases[] = {
		{ "", "" },
		{ "short", "  short\n" },
		{ "12345678901234567890", "  12345678901234567890\n" },
		{ "1234567890 1234567890", "  1234567890\n  1234567890\n" },
		{ "123456789012345678901", "  12345678901234567890\n  1\n" },
		{ "a\nb", "  a\n  b\n" },
		{ "12345678901234567890 x", "  12345678901234567890\n  x\n" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *text = wrap(cases[i].text, 2, 22);

		CHECK_STR(text, cases[i].wrapped);
	}
}

static const struct test tests[] = {
	TEST(columns_are_as_wide_as_what_is_in_them),
	TEST(what_may_be_cut_is_cut_and_what_may_go_goes),
	TEST(colour_is_only_there_when_asked_for),
	TEST(a_note_stands_below_its_row),
	TEST(control_characters_never_reach_a_terminal),
	TEST(widths_count_letters_not_bytes),
	TEST(text_is_wrapped_at_blanks),
};

TEST_SUITE(tests);
