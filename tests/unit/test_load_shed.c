/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/load_shed.h"

#include "lib/base/duration.h"
#include "tests/unit/test.h"

/* One period in which so many are told and kept; returns what the first of the next is told. */
static unsigned period(struct load_shed *s, uint64_t *now_us, unsigned told, unsigned kept)
{
	unsigned within_s = 0;

	while (told-- > 0)
		within_s = load_shed_tell(s, *now_us);
	while (kept-- > 0)
		load_shed_kept(s);
	*now_us += within_s * USEC_PER_SEC;
	return load_shed_tell(s, *now_us);
}

static void a_crowd_that_can_be_kept_is_spread_over_the_least_time(void)
{
	struct load_shed s = { 0 };
	uint64_t now_us = 5;

	CHECK_EQ(load_shed_tell(&s, now_us), LOAD_SHED_WITHIN_MIN_S);
	CHECK_EQ(period(&s, &now_us, 1000, 1001), LOAD_SHED_WITHIN_MIN_S);
	CHECK_EQ(period(&s, &now_us, 10, 1000), LOAD_SHED_WITHIN_MIN_S);
}

static void a_crowd_that_is_too_large_is_spread_over_more(void)
{
	struct load_shed s = { 0 };
	uint64_t now_us = 5;

	CHECK_EQ(period(&s, &now_us, 1000, 100), 2 * LOAD_SHED_WITHIN_MIN_S);
	CHECK_EQ(period(&s, &now_us, 1000, 100), 4 * LOAD_SHED_WITHIN_MIN_S);
	CHECK_EQ(period(&s, &now_us, 1000, 100), LOAD_SHED_WITHIN_MAX_S);
	CHECK_EQ(period(&s, &now_us, 1000, 100), LOAD_SHED_WITHIN_MAX_S);
	/* As many as can be kept: it stays; few: it goes back. */
	CHECK_EQ(period(&s, &now_us, 100, 200), LOAD_SHED_WITHIN_MAX_S);
	CHECK_EQ(period(&s, &now_us, 10, 200), LOAD_SHED_WITHIN_MAX_S / 2);
}

static void within_a_period_nothing_changes(void)
{
	struct load_shed s = { 0 };
	uint64_t i;

	for (i = 0; i < 1000; i++)
		CHECK_EQ(load_shed_tell(&s, 1 + i * LOAD_SHED_WITHIN_MIN_S * USEC_PER_SEC / 1000),
			 LOAD_SHED_WITHIN_MIN_S);
}

static void another_crowd_begins_anew(void)
{
	struct load_shed s = { 0 };
	uint64_t now_us = 5;

	(void)period(&s, &now_us, 1000, 100);
	(void)period(&s, &now_us, 1000, 100);
	now_us += 3600 * USEC_PER_SEC;
	CHECK_EQ(load_shed_tell(&s, now_us), LOAD_SHED_WITHIN_MIN_S);
}

static const struct test tests[] = {
	TEST(a_crowd_that_can_be_kept_is_spread_over_the_least_time),
	TEST(a_crowd_that_is_too_large_is_spread_over_more),
	TEST(within_a_period_nothing_changes),
	TEST(another_crowd_begins_anew),
};

TEST_SUITE(tests);
