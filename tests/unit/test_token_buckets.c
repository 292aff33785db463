/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/token_buckets.h"

#include "lib/base/duration.h"
#include "tests/unit/test.h"

static void a_burst_is_taken_then_the_rate(void)
{
	CLEANUP(token_buckets_release)
	struct token_buckets l = { .rate = 2, .burst = 3, .max = 10 };
	uint64_t now_us = 5 * USEC_PER_SEC;

	CHECK(token_buckets_take(&l, "a", now_us));
	CHECK(token_buckets_take(&l, "a", now_us));
	CHECK(token_buckets_take(&l, "a", now_us));
	CHECK(!token_buckets_take(&l, "a", now_us));
	CHECK(!token_buckets_take(&l, "a", now_us + USEC_PER_SEC / 2 - 1000));
	CHECK(token_buckets_take(&l, "a", now_us + USEC_PER_SEC / 2 + 1000));
	CHECK(!token_buckets_take(&l, "a", now_us + USEC_PER_SEC / 2 + 1000));
	/* It never holds more than the burst, and a clock that goes back gives nothing. */
	now_us += USEC_PER_DAY;
	CHECK(token_buckets_take(&l, "a", now_us));
	CHECK(token_buckets_take(&l, "a", 0));
	CHECK(token_buckets_take(&l, "a", now_us));
	CHECK(!token_buckets_take(&l, "a", now_us));
}

static void hosts_do_not_share_a_bucket_and_are_bounded(void)
{
	CLEANUP(token_buckets_release) struct token_buckets l = { .rate = 1, .burst = 1, .max = 2 };

	CHECK(token_buckets_take(&l, "a", 1));
	CHECK(token_buckets_take(&l, "b", 1));
	CHECK(!token_buckets_take(&l, "a", 1));
	CHECK(!token_buckets_take(&l, "b", 1));
	CHECK(token_buckets_take(&l, "c", 1));
	CHECK(token_buckets_take(&l, "c", 1));
	CHECK_EQ(l.n, 2);
}

static void what_is_given_back_can_be_taken_again(void)
{
	CLEANUP(token_buckets_release) struct token_buckets l = { .rate = 1, .burst = 2, .max = 2 };

	token_buckets_give(&l, "nobody");
	CHECK(token_buckets_take(&l, "a", 1));
	CHECK(token_buckets_take(&l, "a", 1));
	CHECK(!token_buckets_take(&l, "a", 1));
	token_buckets_give(&l, "a");
	CHECK(token_buckets_take(&l, "a", 1));
	CHECK(!token_buckets_take(&l, "a", 1));
	/* Never more than the burst. */
	token_buckets_give(&l, "a");
	token_buckets_give(&l, "a");
	token_buckets_give(&l, "a");
	CHECK(token_buckets_take(&l, "a", 1));
	CHECK(token_buckets_take(&l, "a", 1));
	CHECK(!token_buckets_take(&l, "a", 1));
}

static const struct test tests[] = {
	TEST(a_burst_is_taken_then_the_rate),
	TEST(hosts_do_not_share_a_bucket_and_are_bounded),
	TEST(what_is_given_back_can_be_taken_again),
};

TEST_SUITE(tests);
