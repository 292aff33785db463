/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/clock_pair.h"

#include <math.h>

#include "tests/unit/test.h"

#define DAY ((int64_t)USEC_PER_DAY)
#define MIN_ ((int64_t)USEC_PER_MIN)
#define NOON (UINT64_C(1795262400) * USEC_PER_SEC)

/* What happened `ago_us` before noon, on a host that has been up for ten hours. */
static void an_age_does_not_depend_on_a_wall_clock_that_jumped(void)
{
	static const struct {
		const char *boot;    /* then; now it is "b2" */
		int64_t wall_off_us; /* of the wall clock then, against the one now */
		int64_t ago_us;	     /* by a clock that is right */
		bool up, known;	     /* was the time since the boot kept? */
		int64_t age_us;
	} rows[] = {
		{ "b2", 0, 60 * MIN_, true, true, 60 * MIN_ },
		{ "b2", DAY, 60 * MIN_, true, true, 60 * MIN_ },
		{ "b2", -DAY, 60 * MIN_, true, true, 60 * MIN_ },
		{ "b2", 0, -MIN_, true, false, 0 }, /* after now: no time since this boot */
		/* without the time since the boot only the wall clock is left */
		{ "b2", 0, 60 * MIN_, false, true, 60 * MIN_ },
		{ "b2", -DAY, 60 * MIN_, false, true, 60 * MIN_ + DAY },
		{ "b2", DAY, 60 * MIN_, false, false, 0 },
		{ "", DAY, 60 * MIN_, true, false, 0 },
		{ "", 4 * MIN_, 0, true, true, 0 },
		{ "", 6 * MIN_, 0, true, false, 0 },
		/* an earlier boot: not younger than this one */
		{ "b1", 0, 2 * DAY, true, true, 2 * DAY },
		{ "b1", -DAY, 2 * DAY, true, true, 3 * DAY },
		{ "b1", 2 * DAY, 2 * DAY, true, true, 600 * MIN_ },
		{ "b1", 3 * DAY, 2 * DAY, true, false, 0 },
	};
	const struct clock_pair now = { NOON, 600 * (uint64_t)MIN_, "b2" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct clock_pair then = {
			.real_us = (uint64_t)((int64_t)NOON - rows[i].ago_us + rows[i].wall_off_us),
			.up_us = rows[i].up
					 ? (uint64_t)(600 * MIN_ - MIN(rows[i].ago_us, 599 * MIN_))
					 : 0,
			.boot_id = rows[i].boot,
		};
		uint64_t age_us = 0;

		CHECK_EQ(clock_pair_age(&then, &now, &age_us), rows[i].known);
		CHECK_EQ(age_us, rows[i].age_us);
	}
}

static void what_is_no_time_since_a_boot_is_not_known(void)
{
	CHECK_EQ(clock_pair_up_us(12.5), 12500000);
	CHECK_EQ(clock_pair_up_us(0), 0);
	CHECK_EQ(clock_pair_up_us(-1), 0);
	CHECK_EQ(clock_pair_up_us(NAN), 0);
	CHECK_EQ(clock_pair_up_us(1e300), 0);
}

static void without_clocks_nothing_can_be_told(void)
{
	const struct clock_pair none = { 0 }, now = { NOON, 1, "b" };
	uint64_t age_us = 7;

	CHECK(!clock_pair_age(&none, &now, &age_us));
	CHECK(!clock_pair_age(&now, &none, &age_us));
	CHECK_EQ(age_us, 7);
}

static const struct test tests[] = {
	TEST(an_age_does_not_depend_on_a_wall_clock_that_jumped),
	TEST(what_is_no_time_since_a_boot_is_not_known),
	TEST(without_clocks_nothing_can_be_told),
};

TEST_SUITE(tests);
