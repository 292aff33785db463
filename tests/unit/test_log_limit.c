/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/log_limit.h"

#include "tests/unit/test.h"

static void a_few_are_told_and_the_rest_is_counted(void)
{
	struct log_limit n = { 0 };
	uint64_t now_us = 5 * USEC_PER_SEC;
	unsigned told = 0, i;

	for (i = 0; i < 1000; i++)
		told += log_limit_take(&n, now_us + i);
	CHECK_EQ(told, LOG_LIMIT_LINES);
	CHECK_EQ(log_limit_end(&n, now_us + LOG_LIMIT_PERIOD_US - 1), 0);
	CHECK_EQ(log_limit_end(&n, now_us + LOG_LIMIT_PERIOD_US), 1000 - LOG_LIMIT_LINES);
	/* It begins anew. */
	CHECK_EQ(log_limit_end(&n, now_us + 2 * LOG_LIMIT_PERIOD_US), 0);
	CHECK(log_limit_take(&n, now_us + 2 * LOG_LIMIT_PERIOD_US));
}

static void a_period_without_a_flood_says_nothing_more(void)
{
	struct log_limit n = { 0 };

	CHECK_EQ(log_limit_end(&n, 1), 0);
	CHECK(log_limit_take(&n, 0));
	CHECK_EQ(log_limit_end(&n, LOG_LIMIT_PERIOD_US + 1), 0);
	CHECK_EQ(n.told, 0);
}

static const struct test tests[] = {
	TEST(a_few_are_told_and_the_rest_is_counted),
	TEST(a_period_without_a_flood_says_nothing_more),
};

TEST_SUITE(tests);
