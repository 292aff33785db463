/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_rules.h"

#include "lib/ring/ring_layout.h"
#include "tests/unit/test.h"

static void each_bound_has_its_reason(void)
{
	const uint64_t one = RING_SIZE + RING_CONTROL_SIZE;
	const struct ring_limits limits = { .process = 2, .user = 3, .bytes = 4 * one };
	static const struct {
		struct ring_held held;
		enum ring_refusal why;
	} rows[] = {
		{ { 0, 0, 0 }, RING_TAKEN },	  { { 1, 2, 3 }, RING_TAKEN },
		{ { 2, 2, 3 }, RING_OF_PROCESS }, { { 1, 3, 3 }, RING_OF_USER },
		{ { 1, 2, 4 }, RING_OF_HOST },	  { { 0, 0, UINT32_MAX }, RING_OF_HOST },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(ring_rules_room(&limits, &rows[i].held), rows[i].why);
}

static void a_user_has_a_burst_and_then_a_pace(void)
{
	static struct ring_pace pace;
	uint64_t now_us = 7 * USEC_PER_HOUR;
	int i, n = 0;

	for (i = 0; i < RING_BURST; i++)
		CHECK(ring_rules_pace(&pace, 1000, now_us));
	CHECK(!ring_rules_pace(&pace, 1000, now_us));
	/* Another's is his own. */
	CHECK(ring_rules_pace(&pace, 1001, now_us));
	for (i = 0; i < 10000; i++, now_us += USEC_PER_MSEC)
		n += ring_rules_pace(&pace, 1000, now_us);
	CHECK(n >= 10 * RING_RATE - 1 && n <= 10 * RING_RATE + 1);
	/* After a rest all of it is there again. */
	now_us += USEC_PER_MIN;
	for (i = 0; i < RING_BURST; i++)
		CHECK(ring_rules_pace(&pace, 1000, now_us));
}

static void more_users_than_are_remembered_take_nothing_from_who_comes_most(void)
{
	static struct ring_pace pace;
	const uint64_t now_us = USEC_PER_HOUR;
	uid_t uid;
	int i;

	for (i = 0; i < RING_BURST; i++)
		CHECK(ring_rules_pace(&pace, 1, now_us));
	for (uid = 2; uid < 10000; uid++)
		CHECK(ring_rules_pace(&pace, uid, now_us));
	CHECK_EQ(pace.n, RING_USERS_MAX);
	CHECK(!ring_rules_pace(&pace, 1, now_us));
}

static void a_sample_begins_by_the_clock_that_all_hosts_have(void)
{
	static const struct {
		uint64_t real_s;
		bool on;
		uint64_t change_s;
	} rows[] = { { 0, true, 60 },	{ 59, true, 1 },   { 60, false, 540 },
		     { 599, false, 1 }, { 600, true, 60 }, { 1800000000, true, 60 } };
	uint64_t change_us;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(ring_rules_sampling(600 * USEC_PER_SEC, 60 * USEC_PER_SEC,
					     rows[i].real_s * USEC_PER_SEC, &change_us),
			 rows[i].on);
		CHECK_EQ(change_us, rows[i].change_s * USEC_PER_SEC);
	}
}

static void every_reason_has_its_words(void)
{
	size_t i;

	for (i = 0; i < RING_REFUSALS; i++)
		CHECK(ring_refusal_names[i] && ring_refusal_words[i]);
}

static const struct test tests[] = {
	TEST(each_bound_has_its_reason),
	TEST(a_user_has_a_burst_and_then_a_pace),
	TEST(more_users_than_are_remembered_take_nothing_from_who_comes_most),
	TEST(a_sample_begins_by_the_clock_that_all_hosts_have),
	TEST(every_reason_has_its_words),
};

TEST_SUITE(tests);
