/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/sys/term.h"
#include "tests/unit/test.h"

static void numbers_have_three_digits_and_a_prefix(void)
{
	static const struct {
		double value;
		const char *unit, *text;
	} cases[] = {
		{ 24.94e9, "B/s", "24.9 GB/s" },
		{ 100e9, "B/s", "100 GB/s" },
		{ 999.4, "B/s", "999 B/s" },
		{ 999.6, "B/s", "1.00 kB/s" },
		{ 999.96e6, "B/s", "1.00 GB/s" },
		{ 1, "B/s", "1.00 B/s" },
		{ 0, "B/s", "0.00 B/s" },
		{ -1500, "B/s", "-1.50 kB/s" },
		{ 1.2e-6, "s", "1.20 us" },
		{ 0.0305, "s", "30.5 ms" },
		{ 79.1e9, "FLOP/s", "79.1 GFLOP/s" },
		{ 1.2e15, "FLOP/s", "1.20 PFLOP/s" },
		{ 2e18, "FLOP/s", "2.00e+03 PFLOP/s" },
		{ 1e-12, "s", "0.00100 ns" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[NUMBER_SIZE];

		number_format(cases[i].value, cases[i].unit, text);
		CHECK_STR(text, cases[i].text);
	}
}

static void counts_are_whole(void)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0" },	     { 8, "8" },
		{ -3, "-3" },	     { 2164260864.0, "2164260864" },
		{ 0.97, "0.97" },    { 1.23456, "1.235" },
		{ 1e15, "1e+15" },   { NAN, "-" },
		{ INFINITY, "inf" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[NUMBER_SIZE];

		number_format(cases[i].value, "1", text);
		CHECK_STR(text, cases[i].text);
		number_format(cases[i].value, NULL, text);
		CHECK_STR(text, cases[i].text);
	}
}

static void no_number_is_a_dash_and_a_long_unit_is_cut(void)
{
	char text[NUMBER_SIZE];

	number_format(NAN, "B/s", text);
	CHECK_STR(text, "-");
	number_format(1, "a unit that is far too long for it", text);
	CHECK_STR(text, "1.00 a unit that ");
}

static void formats_of_output_have_names(void)
{
	struct err err = ERR_INIT;
	enum output o = OUTPUT_KV;

	CHECK_EQ(output_parse("table", &o), 0);
	CHECK_EQ(o, OUTPUT_TABLE);
	CHECK_EQ(output_parse("json", &o), 0);
	CHECK_EQ(o, OUTPUT_JSON);
	CHECK_EQ(output_parse("kv", &o), 0);
	CHECK_EQ(o, OUTPUT_KV);
	CHECK_EQ(output_parse("JSON", &o), -EINVAL);
	CHECK_EQ(output_parse("", &o), -EINVAL);
	CHECK_EQ(output_option("kv", &o, &err), 0);
	CHECK_EQ(o, OUTPUT_KV);
	CHECK_EQ(output_option("xml", &o, &err), -EINVAL);
	CHECK_STR(err.msg, "-o: 'xml' is not one of table, json, kv");
	CHECK_EQ(o, OUTPUT_KV);
	CHECK_EQ(o, OUTPUT_KV);
}

static void a_pipe_gets_no_colours_and_the_width_that_is_said(void)
{
	static const struct {
		const char *columns;
		unsigned width;
	} said[] = { { NULL, 100 },    { "80", 80 },
		     { "40", 40 },     { "39", 100 },
		     { "", 100 },      { "80x", 100 },
		     { "-1", 100 },    { "10000", 10000 },
		     { "10001", 100 }, { "99999999999999999999", 100 } };
	size_t i;
	int ends[2];
	FILE *out;

	CHECK_EQ(pipe(ends), 0);
	out = fdopen(ends[1], "w");
	CHECK(!term_wants_colour(out));
	for (i = 0; i < ARRAY_SIZE(said); i++) {
		CHECK_EQ(said[i].columns ? setenv("COLUMNS", said[i].columns, 1)
					 : unsetenv("COLUMNS"),
			 0);
		CHECK_EQ(term_width(out), said[i].width);
	}
	(void)unsetenv("COLUMNS");
	CHECK_EQ(term_height(out), 24);
	(void)fclose(out);
	(void)close(ends[0]);
	CHECK_STR(paint_on(false, PAINT_BAD), "");
	CHECK_STR(paint_off(false), "");
}

static void a_terminal_gets_colours_unless_told_not_to(void)
{
	struct winsize size = { .ws_col = 133, .ws_row = 40 };
	int master = -1, terminal = -1;
	FILE *out;

	if (openpty(&master, &terminal, NULL, NULL, &size) < 0) {
		test_skip("no pseudo-terminal here");
		return;
	}
	out = fdopen(terminal, "w");
	(void)unsetenv("NO_COLOR");
	(void)setenv("TERM", "xterm", 1);
	CHECK(term_wants_colour(out));
	CHECK_EQ(term_width(out), 133);
	CHECK_EQ(term_height(out), 40);
	(void)setenv("NO_COLOR", "1", 1);
	CHECK(!term_wants_colour(out));
	(void)setenv("NO_COLOR", "", 1); /* empty means not set: no-color.org */
	CHECK(term_wants_colour(out));
	(void)setenv("TERM", "dumb", 1);
	CHECK(!term_wants_colour(out));
	size.ws_col = 0;
	CHECK_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
	CHECK_EQ(term_width(out), 100);
	(void)fclose(out);
	(void)close(master);
	CHECK_STR(paint_off(true), "\033[0m");
}

static void a_table_in_one_unit_has_the_scale_of_its_largest(void)
{
	const char *prefix;

	CHECK_NEAR(number_scale(49.1e9, &prefix), 1e9, 0);
	CHECK_STR(prefix, "G");
	CHECK_NEAR(number_scale(2.1e-6, &prefix), 1e-6, 0);
	CHECK_STR(prefix, "u");
	CHECK_NEAR(number_scale(0, &prefix), 1, 0);
	CHECK_STR(prefix, "");
}

static const struct test tests[] = {
	TEST(numbers_have_three_digits_and_a_prefix),
	TEST(counts_are_whole),
	TEST(no_number_is_a_dash_and_a_long_unit_is_cut),
	TEST(formats_of_output_have_names),
	TEST(a_pipe_gets_no_colours_and_the_width_that_is_said),
	TEST(a_terminal_gets_colours_unless_told_not_to),
	TEST(a_table_in_one_unit_has_the_scale_of_its_largest),
};

TEST_SUITE(tests);
