/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/manual_rate.h"

#include "lib/base/clock.h"
#include "lib/policy/budget.h"
#include "lib/policy/policy.h"
#include "tests/unit/test.h"

#define START_US (100 * USEC_PER_DAY)

static const struct policy two = { .manual_cordons = 2, .manual_per_us = 10 * USEC_PER_MIN };

static void each_account_has_its_own_and_the_time_gives_it_back(void)
{
	static struct manual_rate m;
	struct refusal refusal = { 0 };
	const char *account = "";

	manual_rate_count(&m, "operator ann", 1, START_US);
	CHECK(manual_rate_allows(&m, &two, "operator ann", START_US, &refusal));
	manual_rate_count(&m, "operator ann", 2, START_US + USEC_PER_MIN);
	CHECK(!manual_rate_allows(&m, &two, "operator ann", START_US + USEC_PER_MIN, &refusal));
	CHECK_EQ(refusal.by, REFUSED_BY_MANUAL);
	CHECK_STR(refusal.sentence, "budget.rate.manual: operator ann has cordoned 2 hosts in the "
				    "last 10m, and at most 2 may be");
	CHECK_HAS(refusal.allow, "waiting until ");
	CHECK_EQ(refusal.again_us, START_US + two.manual_per_us);
	CHECK(manual_rate_allows(&m, &two, "operator bob", START_US + USEC_PER_MIN, &refusal));
	CHECK_EQ(manual_rate_most(&m, &two, START_US + USEC_PER_MIN, &account), 2);
	CHECK_STR(account, "operator ann");
	CHECK(!manual_rate_allows(&m, &two, "operator ann", refusal.again_us - 1, &refusal));
	CHECK(manual_rate_allows(&m, &two, "operator ann", refusal.again_us, &refusal));
	CHECK_EQ(manual_rate_most(&m, &two, START_US + USEC_PER_DAY, &account), 0);
	CHECK(!account);
	manual_rate_release(&m);
}

static void what_was_not_set_counts_for_nothing(void)
{
	static struct manual_rate m;
	struct refusal refusal = { 0 };

	manual_rate_count(&m, "a", 1, START_US);
	manual_rate_count(&m, "a", 2, START_US);
	manual_rate_uncount(&m, 7);
	CHECK(!manual_rate_allows(&m, &two, "a", START_US, &refusal));
	manual_rate_uncount(&m, 1);
	CHECK(manual_rate_allows(&m, &two, "a", START_US, &refusal));
	manual_rate_release(&m);
}

/* The clock was set back: what lies ahead counts. */
static void a_stamp_from_the_future_counts(void)
{
	static struct manual_rate m;
	struct refusal refusal = { 0 };

	manual_rate_count(&m, "a", 1, START_US);
	manual_rate_count(&m, "a", 2, START_US);
	CHECK(!manual_rate_allows(&m, &two, "a", START_US - USEC_PER_DAY, &refusal));
	manual_rate_release(&m);
}

static void no_limit_is_beyond_what_is_remembered_and_none_is_none(void)
{
	const struct policy endless = { .manual_cordons = 1000000, .manual_per_us = USEC_PER_DAY };
	const struct policy none = { .manual_cordons = 0, .manual_per_us = USEC_PER_DAY };
	static struct manual_rate m;
	struct refusal refusal = { 0 };
	int64_t i;

	for (i = 0; i < MANUAL_RATE_MAX; i++) {
		CHECK(manual_rate_allows(&m, &endless, "a", START_US, &refusal));
		manual_rate_count(&m, "a", i + 1, START_US);
	}
	CHECK(!manual_rate_allows(&m, &endless, "a", START_US, &refusal));
	for (i = 0; i < 3 * (int64_t)MANUAL_STAMPS_MAX; i++)
		manual_rate_count(&m, "b", 1000 + i, START_US);
	CHECK(manual_rate_allows(&m, &endless, "a", START_US, &refusal));
	CHECK(!manual_rate_allows(&m, &none, "c", START_US, &refusal));
	CHECK_STR(refusal.allow, "a budget.rate.manual above 0, or --break-glass");
	manual_rate_release(&m);
}

static const struct test tests[] = {
	TEST(each_account_has_its_own_and_the_time_gives_it_back),
	TEST(what_was_not_set_counts_for_nothing),
	TEST(a_stamp_from_the_future_counts),
	TEST(no_limit_is_beyond_what_is_remembered_and_none_is_none),
};

TEST_SUITE(tests);
