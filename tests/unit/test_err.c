/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static void setting_returns_the_negative_code(void)
{
	struct err err = ERR_INIT;

	CHECK_EQ(err_set(&err, ENODEV, "no device '%s'", "mlx5_0"), -ENODEV);
	CHECK_EQ(err.code, ENODEV);
	CHECK_STR(err.msg, "no device 'mlx5_0'");
}

static void nobody_listening_is_fine(void)
{
	CHECK_EQ(err_set(NULL, EIO, "x"), -EIO);
	CHECK_EQ(err_errno(NULL, EIO, "x"), -EIO);
	CHECK_EQ(err_wrap(NULL, -EIO, "x"), -EIO);
}

static void errno_words_follow_the_sentence(void)
{
	struct err err = ERR_INIT;

	CHECK_EQ(err_errno(&err, ENOENT, "cannot read %s", "seq"), -ENOENT);
	CHECK_STR(err.msg, "cannot read seq: No such file or directory");
}

static void context_goes_before_and_the_code_stays(void)
{
	struct err err = ERR_INIT;
	int r = err_set(&err, EINVAL, "inner");

	CHECK_EQ(err_wrap(&err, r, "middle %d", 1), -EINVAL);
	CHECK_EQ(err_wrap(&err, r, "outer"), -EINVAL);
	CHECK_EQ(err.code, EINVAL);
	CHECK_STR(err.msg, "outer: middle 1: inner");
}

static void a_message_too_long_is_cut_and_ended(void)
{
	struct err err = ERR_INIT;
	CLEANUP(freep) char *text = xcalloc(2 * ERR_MSG_SIZE, 1);

	memset(text, 'x', 2 * ERR_MSG_SIZE - 1);
	err_set(&err, EINVAL, "%s", text);
	CHECK_EQ(strlen(err.msg), ERR_MSG_SIZE - 1);
	err_wrap(&err, -EINVAL, "%s", text);
	CHECK_EQ(strlen(err.msg), ERR_MSG_SIZE - 1);
}

static void an_error_nobody_set_gets_the_words_of_its_errno(void)
{
	struct err err = ERR_INIT;

	CHECK_EQ(err_wrap(&err, -EIO, "probe %s", "gemm"), -EIO);
	CHECK_EQ(err.code, EIO);
	CHECK_STR(err.msg, "probe gemm: Input/output error");
}

static void what_was_quoted_cannot_break_the_line(void)
{
	static const struct {
		const char *quoted, *shown;
	} cases[] = {
		{ "two\nlines\tand\rmore", "two lines and more" },
		{ "\033[31mred\a\x7f", "?[31mred??" },
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80",
		  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\x80" },
		{ "latin \xe9.", "latin ?." },
		{ "overlong \xc0\xaf \xe0\x80\xaf", "overlong ?? ???" },
		{ "surrogate \xed\xa0\x80", "surrogate ???" },
		{ "cut \xe2\x82", "cut ??" },
		{ "beyond \xf4\x90\x80\x80 \xff", "beyond ???? ?" },
	};
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		err_set(&err, EINVAL, "%s", cases[i].quoted);
		CHECK_STR(err.msg, cases[i].shown);
	}
}

static void a_cut_inside_a_character_leaves_no_half_of_it(void)
{
	struct err err = ERR_INIT;

	/* 510 bytes, then a character of two whose second does not fit. */
	err_set(&err, EINVAL, "%510s\xc3\xa9", "");
	CHECK_EQ(strlen(err.msg), ERR_MSG_SIZE - 1);
	CHECK_EQ(err.msg[ERR_MSG_SIZE - 2], '?');
}

static const struct test tests[] = {
	TEST(setting_returns_the_negative_code),
	TEST(nobody_listening_is_fine),
	TEST(errno_words_follow_the_sentence),
	TEST(context_goes_before_and_the_code_stays),
	TEST(a_message_too_long_is_cut_and_ended),
	TEST(an_error_nobody_set_gets_the_words_of_its_errno),
	TEST(what_was_quoted_cannot_break_the_line),
	TEST(a_cut_inside_a_character_leaves_no_half_of_it),
};

TEST_SUITE(tests);
