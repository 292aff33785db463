/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/retention.h"

#include "lib/judge/verdict.h"
#include "tests/unit/test.h"

/* A midnight, in microseconds. */
#define MIDNIGHT (UINT64_C(20000) * USEC_PER_DAY)
#define QUARTER (15 * USEC_PER_MIN)

static struct retention_round round_at(uint64_t now_us)
{
	return (struct retention_round){ .retention = retention_init(), .now_us = now_us };
}

static int judge(struct retention_round *round, uint64_t seen_us, int level)
{
	const struct retention_row row = { 1, "quick", level, seen_us };

	return retention_judge(round, &row);
}

/* Reports of one host, each 15 minutes for `days` before `now_us`, and what is kept. */
struct counts {
	unsigned whole, lean, gone;
};

static struct counts count(uint64_t now_us, unsigned days, int level)
{
	CLEANUP(retention_release) struct retention_round round = round_at(now_us);
	struct counts c = { 0 };
	unsigned i, n = days * 96;

	for (i = 0; i < n; i++) {
		int act = judge(&round, now_us - (n - i) * QUARTER + QUARTER / 2, level);

		c.whole += act == RETAIN_WHOLE;
		c.lean += act == RETAIN_LEAN;
		c.gone += act == RETAIN_NOT;
	}
	return c;
}

static void a_host_that_passes_leaves_so_many_rows(void)
{
	/* At midnight: 96 of a day, then 6 days of 24 with 1 body, then 23 days of one. */
	struct counts c = count(MIDNIGHT, 60, VERDICT_PASS);

	CHECK_EQ(c.whole, 96 + 6 + 23);
	CHECK_EQ(c.lean, 6 * 23);
	CHECK_EQ(c.gone, 60 * 96 - 96 - 6 * 24 - 23);
	/* Not pass: 3 days, 11 days of 24, 76 days. */
	c = count(MIDNIGHT, 120, VERDICT_FAIL);
	CHECK_EQ(c.whole, 3 * 96 + 11 + 76);
	CHECK_EQ(c.lean, 11 * 23);
	/* What could not be told is not pass either. */
	CHECK_EQ(count(MIDNIGHT, 120, VERDICT_INCONCLUSIVE).whole, c.whole);
}

static void each_boundary_is_where_it_is_said_to_be(void)
{
	static const struct {
		uint64_t age_us;
		int level, act;
	} rows[] = {
		{ 0, VERDICT_PASS, RETAIN_WHOLE },
		{ USEC_PER_DAY - 1, VERDICT_PASS, RETAIN_WHOLE },
		{ USEC_PER_DAY, VERDICT_PASS, RETAIN_LEAN },
		{ 7 * USEC_PER_DAY - 1, VERDICT_PASS, RETAIN_LEAN },
		{ 7 * USEC_PER_DAY, VERDICT_PASS, RETAIN_NOT },
		{ 3 * USEC_PER_DAY - 1, VERDICT_WARN, RETAIN_WHOLE },
		{ 3 * USEC_PER_DAY, VERDICT_WARN, RETAIN_LEAN },
		{ 14 * USEC_PER_DAY, VERDICT_WARN, RETAIN_NOT },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t noon = MIDNIGHT + USEC_PER_DAY / 2;
		CLEANUP(retention_release)
		struct retention_round round = round_at(noon + rows[i].age_us);

		/* The first of its hour, and not of its day. */
		(void)judge(&round, MIDNIGHT, rows[i].level);
		CHECK_EQ(judge(&round, noon, rows[i].level), rows[i].act);
	}
}

static void the_first_of_a_day_goes_at_the_end_of_the_ladder(void)
{
	static const struct {
		uint64_t age_us;
		int level, act;
	} rows[] = {
		{ 30 * USEC_PER_DAY - 1, VERDICT_PASS, RETAIN_WHOLE },
		{ 30 * USEC_PER_DAY, VERDICT_PASS, RETAIN_NOT },
		{ 90 * USEC_PER_DAY - 1, VERDICT_FAIL, RETAIN_WHOLE },
		{ 90 * USEC_PER_DAY, VERDICT_FAIL, RETAIN_NOT },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(retention_release)
		struct retention_round round = round_at(MIDNIGHT + rows[i].age_us);

		CHECK_EQ(judge(&round, MIDNIGHT, rows[i].level), rows[i].act);
	}
}

static void verdicts_profiles_and_hosts_do_not_hide_each_other(void)
{
	CLEANUP(retention_release)
	struct retention_round round = round_at(MIDNIGHT + 20 * USEC_PER_DAY);
	const struct retention_row rows[] = {
		{ 1, "quick", VERDICT_PASS, MIDNIGHT },
		{ 1, "quick", VERDICT_FAIL, MIDNIGHT + 1 },
		{ 1, "quick", VERDICT_WARN, MIDNIGHT + 2 },
		{ 1, "full", VERDICT_PASS, MIDNIGHT + 3 },
		{ 2, "quick", VERDICT_PASS, MIDNIGHT + 4 },
		{ 2, NULL, VERDICT_PASS, MIDNIGHT + 5 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(retention_judge(&round, &rows[i]), RETAIN_WHOLE);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(retention_judge(&round, &rows[i]), RETAIN_NOT);
}

/* Thinning what is thinned, later, leaves what thinning once at that time does. */
static void thinning_often_is_as_thinning_once(void)
{
	static bool there[40 * 96], once[40 * 96];
	unsigned hours, i, n = ARRAY_SIZE(there), different = 0;

	for (i = 0; i < n; i++)
		there[i] = true;
	for (hours = 0; hours <= 40 * 24; hours += 5) {
		CLEANUP(retention_release)
		struct retention_round round = round_at(MIDNIGHT + hours * USEC_PER_HOUR);

		for (i = 0; i < n; i++) {
			uint64_t seen_us = MIDNIGHT + i * QUARTER + 7 * USEC_PER_MIN;

			if (there[i] && seen_us <= round.now_us)
				there[i] = judge(&round, seen_us, VERDICT_PASS) != RETAIN_NOT;
		}
	}
	{
		CLEANUP(retention_release)
		struct retention_round round = round_at(MIDNIGHT + 40 * USEC_PER_DAY);

		for (i = 0; i < n; i++)
			once[i] = judge(&round, MIDNIGHT + i * QUARTER + 7 * USEC_PER_MIN,
					VERDICT_PASS) != RETAIN_NOT;
	}
	for (i = 0; i < n; i++)
		different += there[i] != once[i];
	CHECK_EQ(different, 0);
}

static void a_clock_that_jumped_thins_no_more_than_a_little(void)
{
	CHECK_EQ(retention_clock(0, MIDNIGHT, USEC_PER_DAY), MIDNIGHT);
	CHECK_EQ(retention_clock(MIDNIGHT, MIDNIGHT + 5, USEC_PER_DAY), MIDNIGHT + 5);
	CHECK_EQ(retention_clock(MIDNIGHT, 2 * MIDNIGHT, USEC_PER_DAY), MIDNIGHT + USEC_PER_DAY);
	/* Back is where the clock is. */
	CHECK_EQ(retention_clock(MIDNIGHT, MIDNIGHT / 2, USEC_PER_DAY), MIDNIGHT / 2);
}

static void what_comes_from_a_time_to_be_is_whole(void)
{
	CLEANUP(retention_release) struct retention_round round = round_at(MIDNIGHT);

	CHECK_EQ(judge(&round, 2 * MIDNIGHT, VERDICT_PASS), RETAIN_WHOLE);
	CHECK_EQ(judge(&round, 2 * MIDNIGHT + 1, VERDICT_PASS), RETAIN_WHOLE);
}

static void a_store_that_is_too_large_keeps_less_and_bad_ones_longer(void)
{
	struct retention whole = retention_init(), r;
	unsigned i;

	CHECK_EQ(retention_squeeze_next(0, 100, 0), 0);
	CHECK_EQ(retention_squeeze_next(0, 1000, 1000), 0);
	CHECK_EQ(retention_squeeze_next(0, 1001, 1000), 1);
	CHECK_EQ(retention_squeeze_next(3, 900, 1000), 3);
	CHECK_EQ(retention_squeeze_next(3, 799, 1000), 2);
	CHECK_EQ(retention_squeeze_next(3, 100, 0), 2);
	CHECK_EQ(retention_squeeze_next(RETENTION_SQUEEZE_MAX, 2000, 1000), RETENTION_SQUEEZE_MAX);
	r = retention_squeeze(&whole, 2);
	CHECK_EQ(r.pass.all_us, USEC_PER_DAY / 4);
	CHECK_EQ(r.bad.all_us, 3 * USEC_PER_DAY / 2);
	CHECK_EQ(r.nodes_us, whole.nodes_us);
	for (i = 0; i <= RETENTION_SQUEEZE_MAX + 1; i++) {
		r = retention_squeeze(&whole, i);
		CHECK(r.pass.all_us >= RETENTION_LEAST_US);
		CHECK(r.pass.all_us <= r.pass.hourly_us && r.pass.hourly_us <= r.pass.daily_us);
		CHECK(r.bad.all_us >= r.pass.all_us && r.bad.daily_us >= r.pass.daily_us);
		CHECK_EQ(retention_youngest_us(&r), r.pass.all_us);
	}
}

static const struct test tests[] = {
	TEST(a_host_that_passes_leaves_so_many_rows),
	TEST(each_boundary_is_where_it_is_said_to_be),
	TEST(the_first_of_a_day_goes_at_the_end_of_the_ladder),
	TEST(verdicts_profiles_and_hosts_do_not_hide_each_other),
	TEST(thinning_often_is_as_thinning_once),
	TEST(a_clock_that_jumped_thins_no_more_than_a_little),
	TEST(what_comes_from_a_time_to_be_is_whole),
	TEST(a_store_that_is_too_large_keeps_less_and_bad_ones_longer),
};

TEST_SUITE(tests);
