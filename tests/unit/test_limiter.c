/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/limiter.h"

#include "lib/base/duration.h"
#include "tests/unit/test.h"

static void a_burst_is_taken_then_the_rate(void)
{
	CLEANUP(limiter_release) struct limiter l = { .rate = 2, .burst = 3, .max = 10 };
	uint64_t now_us = 5 * USEC_PER_SEC;

	CHECK(limiter_take(&l, "a", now_us));
	CHECK(limiter_take(&l, "a", now_us));
	CHECK(limiter_take(&l, "a", now_us));
	CHECK(!limiter_take(&l, "a", now_us));
	CHECK(!limiter_take(&l, "a", now_us + USEC_PER_SEC / 2 - 1000));
	CHECK(limiter_take(&l, "a", now_us + USEC_PER_SEC / 2 + 1000));
	CHECK(!limiter_take(&l, "a", now_us + USEC_PER_SEC / 2 + 1000));
	/* It never holds more than the burst, and a clock that goes back gives nothing. */
	now_us += USEC_PER_DAY;
	CHECK(limiter_take(&l, "a", now_us));
	CHECK(limiter_take(&l, "a", 0));
	CHECK(limiter_take(&l, "a", now_us));
	CHECK(!limiter_take(&l, "a", now_us));
}

static void hosts_do_not_share_a_bucket_and_are_bounded(void)
{
	CLEANUP(limiter_release) struct limiter l = { .rate = 1, .burst = 1, .max = 2 };

	CHECK(limiter_take(&l, "a", 1));
	CHECK(limiter_take(&l, "b", 1));
	CHECK(!limiter_take(&l, "a", 1));
	CHECK(!limiter_take(&l, "b", 1));
	CHECK(limiter_take(&l, "c", 1));
	CHECK(limiter_take(&l, "c", 1));
	CHECK_EQ(l.n, 2);
}

static void what_is_given_back_can_be_taken_again(void)
{
	CLEANUP(limiter_release) struct limiter l = { .rate = 1, .burst = 2, .max = 2 };

	limiter_give(&l, "nobody");
	CHECK(limiter_take(&l, "a", 1));
	CHECK(limiter_take(&l, "a", 1));
	CHECK(!limiter_take(&l, "a", 1));
	limiter_give(&l, "a");
	CHECK(limiter_take(&l, "a", 1));
	CHECK(!limiter_take(&l, "a", 1));
	/* Never more than the burst. */
	limiter_give(&l, "a");
	limiter_give(&l, "a");
	limiter_give(&l, "a");
	CHECK(limiter_take(&l, "a", 1));
	CHECK(limiter_take(&l, "a", 1));
	CHECK(!limiter_take(&l, "a", 1));
}

static const struct test tests[] = {
	TEST(a_burst_is_taken_then_the_rate),
	TEST(hosts_do_not_share_a_bucket_and_are_bounded),
	TEST(what_is_given_back_can_be_taken_again),
};

int main(void)
{
	return TEST_MAIN("limiter", tests);
}
