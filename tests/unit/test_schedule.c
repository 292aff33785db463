/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/schedule_time.h"

#include <stdio.h>

#include "tests/unit/test.h"

#define QUARTER_US (15 * USEC_PER_MIN)
/* 2026-11-21T12:00:00Z, a multiple of a quarter of an hour. */
#define NOON_US (UINT64_C(1795262400) * USEC_PER_SEC)

static void the_next_moment_is_the_hosts_own_and_never_now(void)
{
	static const struct {
		uint64_t now_us, offset_us, next_us;
	} rows[] = {
		{ NOON_US, 7 * USEC_PER_MIN, NOON_US + 7 * USEC_PER_MIN },
		{ NOON_US + 7 * USEC_PER_MIN - 1, 7 * USEC_PER_MIN, NOON_US + 7 * USEC_PER_MIN },
		{ NOON_US + 7 * USEC_PER_MIN, 7 * USEC_PER_MIN, NOON_US + 22 * USEC_PER_MIN },
		{ NOON_US + 14 * USEC_PER_MIN, 7 * USEC_PER_MIN, NOON_US + 22 * USEC_PER_MIN },
		{ NOON_US, 0, NOON_US + QUARTER_US },
		{ 0, 0, QUARTER_US },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(schedule_next_us(rows[i].now_us, QUARTER_US, rows[i].offset_us),
			 rows[i].next_us);
}

static void what_was_missed_is_made_up_soon_and_nothing_else(void)
{
	const uint64_t offset_us = 7 * USEC_PER_MIN + 20 * USEC_PER_SEC;
	const uint64_t soon_us = NOON_US + 20 * USEC_PER_SEC, usual_us = NOON_US + offset_us;
	const struct {
		uint64_t last_us, first_us;
	} rows[] = {
		{ 0, soon_us },				/* never, or before the boot */
		{ NOON_US - QUARTER_US, soon_us },	/* a turn was missed */
		{ NOON_US - QUARTER_US + 1, usual_us }, /* none was */
		{ NOON_US, usual_us },
		{ NOON_US + USEC_PER_HOUR, usual_us }, /* the clock was set back */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(schedule_first_us(NOON_US, rows[i].last_us, QUARTER_US, offset_us),
			 rows[i].first_us);
}

static void hosts_spread_over_the_period_and_keep_their_moment(void)
{
	enum { HOSTS = 3000, MINUTES = 15 };
	unsigned counts[MINUTES] = { 0 };
	unsigned i;

	for (i = 0; i < HOSTS; i++) {
		char node[32];
		uint64_t offset_us;

		(void)snprintf(node, sizeof(node), "gpu-%u", i);
		offset_us = schedule_offset_us(node, "quick", QUARTER_US);
		CHECK(offset_us < QUARTER_US);
		CHECK_EQ(offset_us, schedule_offset_us(node, "quick", QUARTER_US));
		counts[offset_us / USEC_PER_MIN % MINUTES]++;
	}
	/* 200 each: a minute with half or twice as many would be no accident. */
	for (i = 0; i < MINUTES; i++)
		CHECK(counts[i] > 100 && counts[i] < 400);
}

static void profiles_of_one_host_have_moments_of_their_own(void)
{
	CHECK(schedule_offset_us("gpu-1", "quick", USEC_PER_DAY) !=
	      schedule_offset_us("gpu-1", "full", USEC_PER_DAY));
}

static const struct test tests[] = {
	TEST(the_next_moment_is_the_hosts_own_and_never_now),
	TEST(what_was_missed_is_made_up_soon_and_nothing_else),
	TEST(hosts_spread_over_the_period_and_keep_their_moment),
	TEST(profiles_of_one_host_have_moments_of_their_own),
};

TEST_SUITE(tests);
