/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/notice.h"

#include "tests/unit/test.h"

static void a_few_are_told_and_the_rest_is_counted(void)
{
	struct notice n = { 0 };
	uint64_t now_us = 5 * USEC_PER_SEC;
	unsigned told = 0, i;

	for (i = 0; i < 1000; i++)
		told += notice_take(&n, now_us + i);
	CHECK_EQ(told, NOTICE_LINES);
	CHECK_EQ(notice_end(&n, now_us + NOTICE_PERIOD_US - 1), 0);
	CHECK_EQ(notice_end(&n, now_us + NOTICE_PERIOD_US), 1000 - NOTICE_LINES);
	/* It begins anew. */
	CHECK_EQ(notice_end(&n, now_us + 2 * NOTICE_PERIOD_US), 0);
	CHECK(notice_take(&n, now_us + 2 * NOTICE_PERIOD_US));
}

static void a_period_without_a_flood_says_nothing_more(void)
{
	struct notice n = { 0 };

	CHECK_EQ(notice_end(&n, 1), 0);
	CHECK(notice_take(&n, 0));
	CHECK_EQ(notice_end(&n, NOTICE_PERIOD_US + 1), 0);
	CHECK_EQ(n.told, 0);
}

static const struct test tests[] = {
	TEST(a_few_are_told_and_the_rest_is_counted),
	TEST(a_period_without_a_flood_says_nothing_more),
};

int main(void)
{
	return TEST_MAIN("notice", tests);
}
