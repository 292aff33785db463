/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/err.h"
#include "lib/xalloc.h"
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

static const struct test tests[] = {
	TEST(setting_returns_the_negative_code),   TEST(nobody_listening_is_fine),
	TEST(errno_words_follow_the_sentence),	   TEST(context_goes_before_and_the_code_stays),
	TEST(a_message_too_long_is_cut_and_ended),
};

int main(void)
{
	return TEST_MAIN("err", tests);
}
