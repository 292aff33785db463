/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "tests/unit/test.h"

static void empty_is_an_empty_string(void)
{
	struct strbuf sb = STRBUF_INIT(10);

	CHECK_STR(strbuf_text(&sb), "");
	CHECK(strbuf_ok(&sb));
	CHECK_EQ(strbuf_add(&sb, "", 0), 0);
	CHECK_STR(strbuf_text(&sb), "");
	strbuf_consume(&sb, 5);
	strbuf_release(&sb);
}

static void pieces_add_up(void)
{
	CLEANUP(strbuf_release) struct strbuf sb = STRBUF_INIT(64);

	CHECK_EQ(strbuf_puts(&sb, "one"), 0);
	CHECK_EQ(strbuf_printf(&sb, " %d %s", 2, "three"), 0);
	CHECK_EQ(strbuf_add(&sb, "\0x", 2), 0);
	CHECK_EQ(sb.len, 13);
	CHECK_STR(strbuf_text(&sb), "one 2 three");
}

static void it_holds_exactly_its_limit(void)
{
	CLEANUP(strbuf_release) struct strbuf sb = STRBUF_INIT(4);

	CHECK_EQ(strbuf_puts(&sb, "abcd"), 0);
	CHECK_EQ(strbuf_puts(&sb, ""), 0);
	CHECK_EQ(strbuf_puts(&sb, "e"), -E2BIG);
	CHECK_STR(strbuf_text(&sb), "abcd");
}

static void a_failure_sticks(void)
{
	CLEANUP(strbuf_release) struct strbuf sb = STRBUF_INIT(4);

	CHECK_EQ(strbuf_printf(&sb, "%s", "abcde"), -E2BIG);
	CHECK_EQ(strbuf_puts(&sb, "a"), -E2BIG);
	CHECK(!strbuf_ok(&sb));
	CHECK_EQ(sb.len, 0);
	strbuf_release(&sb);
	CHECK(strbuf_ok(&sb));
	CHECK_EQ(strbuf_puts(&sb, "a"), 0);
}

static void a_size_that_would_wrap_is_refused(void)
{
	CLEANUP(strbuf_release) struct strbuf sb = STRBUF_INIT(SIZE_MAX / 4);

	CHECK_EQ(strbuf_puts(&sb, "abc"), 0);
	CHECK_EQ(strbuf_add(&sb, "x", SIZE_MAX), -E2BIG);
	CHECK_STR(strbuf_text(&sb), "abc");
}

static void the_front_can_be_consumed(void)
{
	CLEANUP(strbuf_release) struct strbuf sb = STRBUF_INIT(64);

	strbuf_puts(&sb, "line\nrest");
	strbuf_consume(&sb, 5);
	CHECK_STR(strbuf_text(&sb), "rest");
	strbuf_consume(&sb, 100);
	CHECK_STR(strbuf_text(&sb), "");
	CHECK_EQ(sb.len, 0);
	CHECK_EQ(strbuf_puts(&sb, "x"), 0);
	CHECK_STR(strbuf_text(&sb), "x");
}

static void it_grows_through_many_small_pieces(void)
{
	CLEANUP(strbuf_release) struct strbuf sb = STRBUF_INIT(100000);
	size_t i;

	for (i = 0; i < 100000; i++)
		strbuf_add(&sb, &"0123456789"[i % 10], 1);
	CHECK(strbuf_ok(&sb));
	CHECK_EQ(sb.len, 100000);
	CHECK_EQ(strlen(sb.data), 100000);
	CHECK_EQ(sb.data[98765], '5');
}

static const struct test tests[] = {
	TEST(empty_is_an_empty_string),		  TEST(pieces_add_up),
	TEST(it_holds_exactly_its_limit),	  TEST(a_failure_sticks),
	TEST(a_size_that_would_wrap_is_refused),  TEST(the_front_can_be_consumed),
	TEST(it_grows_through_many_small_pieces),
};

TEST_SUITE(tests);
