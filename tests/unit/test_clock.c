/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "tests/unit/test.h"

static void durations_are_read(void)
{
	static const struct {
		const char *text;
		uint64_t us;
	} cases[] = {
		{ "0", 0 },
		{ "00", 0 },
		{ "0s", 0 },
		{ "1ms", 1000 },
		{ "500ms", 500000 },
		{ "45s", 45 * USEC_PER_SEC },
		{ "007s", 7 * USEC_PER_SEC },
		{ "90m", 90 * USEC_PER_MIN },
		{ "24h", USEC_PER_DAY },
		{ "7d", 7 * USEC_PER_DAY },
		{ "3650d", 3650 * USEC_PER_DAY },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t us = 1;

		CHECK_EQ(duration_parse(cases[i].text, &us, NULL), 0);
		CHECK_EQ(us, cases[i].us);
	}
}

static void what_is_no_duration_is_refused_with_its_text(void)
{
	static const char *const cases[] = { "",
					     "s",
					     "5",
					     " 5s",
					     "5 s",
					     "5s ",
					     "-5s",
					     "+5s",
					     "1.5s",
					     "5S",
					     "5min",
					     "5us",
					     "0x5s",
					     "5sm",
					     "1h30m",
					     "inf",
					     "99999999999999999999s" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		uint64_t us = 77;

		CHECK_EQ(duration_parse(cases[i], &us, &err), -EINVAL);
		CHECK_EQ(us, 77);
		CHECK_HAS(err.msg, cases[i]);
		CHECK_HAS(err.msg, "expected a whole number with ms, s, m, h or d");
	}
}

static void more_than_ten_years_is_refused(void)
{
	static const char *const cases[] = { "3651d", "87601h", "18446744073709551615d",
					     "315360001s" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		uint64_t us = 77;

		CHECK_EQ(duration_parse(cases[i], &us, &err), -EINVAL);
		CHECK_EQ(us, 77);
		CHECK_HAS(err.msg, "longer than 10 years");
	}
}

static void durations_are_written_in_the_largest_whole_unit(void)
{
	static const struct {
		uint64_t us;
		const char *text;
	} cases[] = {
		{ 0, "0ms" },
		{ 500000, "500ms" },
		{ USEC_PER_SEC, "1s" },
		{ 90 * USEC_PER_SEC, "90s" },
		{ 3600 * USEC_PER_SEC, "1h" },
		{ 36 * USEC_PER_HOUR, "36h" },
		{ 2 * USEC_PER_DAY, "2d" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[CLOCK_DURATION_SIZE];
		uint64_t us = 1;

		duration_format(cases[i].us, text);
		CHECK_STR(text, cases[i].text);
		CHECK_EQ(duration_parse(text, &us, NULL), 0);
		CHECK_EQ(us, cases[i].us);
	}
}

static void stamps_go_round(void)
{
	static const struct {
		uint64_t us;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ UINT64_C(951782400123000), "2000-02-29T00:00:00.123Z" },
		{ UINT64_C(1795224600999000), "2026-11-21T01:30:00.999Z" },
		{ UINT64_C(253402300799999000), "9999-12-31T23:59:59.999Z" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[CLOCK_STAMP_SIZE];
		uint64_t us = 1;

		clock_stamp(cases[i].us, text);
		CHECK_STR(text, cases[i].text);
		CHECK_EQ(clock_parse_stamp(text, &us), 0);
		CHECK_EQ(us, cases[i].us);
	}
}

static void a_time_beyond_the_years_shows_the_last_stamp(void)
{
	char text[CLOCK_STAMP_SIZE];

	clock_stamp(UINT64_MAX, text);
	CHECK_STR(text, "9999-12-31T23:59:59.999Z");
}

static void a_moment_is_as_near_as_it_has_to_be(void)
{
	const uint64_t now_us = UINT64_C(1763705410) * USEC_PER_SEC; /* 2025-11-21T06:10:10Z */
	static const struct {
		int64_t away_s;
		const char *text;
	} cases[] = {
		{ 0, "06:10:10Z" },
		{ 119, "06:12:09Z" },
		{ 120, "06:12Z" },
		{ 13 * 60, "06:23Z" },
		{ 86399, "06:10Z" },
		{ 86400, "2025-11-22 06:10Z" },
		{ 400 * 86400, "2026-12-26 06:10Z" },
		{ -1, "2025-11-21 06:10Z" },
	};
	char text[CLOCK_STAMP_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		duration_until((uint64_t)((int64_t)now_us + cases[i].away_s * (int64_t)USEC_PER_SEC),
			       now_us, text);
		CHECK_STR(text, cases[i].text);
	}
	duration_until(UINT64_MAX, now_us, text);
	CHECK_STR(text, "9999-12-31 23:59Z");
}

static void fractions_are_read_to_the_microsecond(void)
{
	static const struct {
		const char *text;
		uint64_t us;
	} cases[] = {
		{ "1970-01-01T00:00:01Z", 1000000 },
		{ "1970-01-01T00:00:00.5Z", 500000 },
		{ "1970-01-01T00:00:00.000001Z", 1 },
		{ "1970-01-01T00:00:00.123456789Z", 123456 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t us = 77;

		CHECK_EQ(clock_parse_stamp(cases[i].text, &us), 0);
		CHECK_EQ(us, cases[i].us);
	}
}

static void what_is_no_stamp_is_refused(void)
{
	static const char *const cases[] = {
		"",
		"now",
		"2026-11-21",
		"2026-11-21T01:30:00",
		"2026-11-21T01:30:00+01:00",
		"2026-11-21t01:30:00z",
		"2026-11-21 01:30:00Z",
		"2026-11-21T01:30:00.Z",
		"2026-11-21T01:30:00Z ",
		" 2026-11-21T01:30:00Z",
		"2026-1-1T1:1:1Z",
		"2026-02-31T00:00:00Z",
		"2026-13-01T00:00:00Z",
		"2026-11-21T24:00:00Z",
		"2026-11-21T00:60:00Z",
		"2026-11-21T00:00:60Z",
		"1969-12-31T23:59:59Z",
		"2026-11-21T01:30:00.5",
		"+026-11-21T01:30:00Z",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t us = 77;

		CHECK_EQ(clock_parse_stamp(cases[i], &us), -EINVAL);
		CHECK_EQ(us, 77);
	}
}

static void monotonic_time_does_not_go_back(void)
{
	uint64_t before = clock_mono_us(), i;

	for (i = 0; i < 10000; i++) {
		uint64_t now_us = clock_mono_us();

		if (now_us < before)
			CHECK(now_us >= before);
		before = now_us;
	}
	CHECK(clock_real_us() > UINT64_C(1700000000) * USEC_PER_SEC);
}

static void time_left_is_rounded_up_and_never_negative(void)
{
	CHECK_EQ(clock_left_us(0), 0);
	CHECK_EQ(clock_left_ms(0), 0);
	CHECK_EQ(clock_left_ms(UINT64_MAX), INT_MAX);
	/* A part of a millisecond is still one, or poll() would spin. */
	CHECK(clock_left_ms(clock_mono_us() + USEC_PER_HOUR + 1) > 3599000);
	CHECK(clock_left_us(clock_mono_us() + USEC_PER_HOUR) <= USEC_PER_HOUR);
}

static const struct test tests[] = {
	TEST(durations_are_read),
	TEST(what_is_no_duration_is_refused_with_its_text),
	TEST(more_than_ten_years_is_refused),
	TEST(durations_are_written_in_the_largest_whole_unit),
	TEST(stamps_go_round),
	TEST(a_time_beyond_the_years_shows_the_last_stamp),
	TEST(a_moment_is_as_near_as_it_has_to_be),
	TEST(fractions_are_read_to_the_microsecond),
	TEST(what_is_no_stamp_is_refused),
	TEST(monotonic_time_does_not_go_back),
	TEST(time_left_is_rounded_up_and_never_negative),
};

TEST_SUITE(tests);
