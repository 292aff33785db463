/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/report_age.h"

#include "lib/sys/clock_pair.h"
#include "tests/unit/test.h"

static void the_age_of_a_report_is_told_in_seconds(void)
{
	static const struct {
		const char *text, *line;
	} rows[] = {
		{ "{\"time\":\"2026-11-19T12:00:00.750Z\",\"boot_id\":\"b\"}",
		  "Assay-Age: 172799.250" },
		{ "{\"time\":\"2026-11-22T12:00:00Z\",\"boot_id\":\"b\",\"uptime_s\":940.5}",
		  "Assay-Age: 59.500" },
		{ "{\"time\":\"2026-11-21T11:59:50Z\",\"boot_id\":\"a\",\"uptime_s\":999.0}",
		  "Assay-Age: 1000.000" },
		{ "{\"time\":\"2026-11-22T12:00:00Z\",\"boot_id\":\"a\"}", "Assay-Age: unknown" },
		{ "{\"time\":\"noon\"}", "Assay-Age: unknown" },
		{ "{}", "Assay-Age: unknown" },
		{ "{", "Assay-Age: unknown" },
		{ "", "Assay-Age: unknown" },
	};
	struct clock_pair now = { .up_us = 1000 * USEC_PER_SEC, .boot_id = "b" };
	size_t i;

	CHECK_EQ(clock_parse_stamp("2026-11-21T12:00:00Z", &now.real_us), 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[REPORT_AGE_SIZE];

		report_age_header(rows[i].text, strlen(rows[i].text), &now, line);
		CHECK_STR(line, rows[i].line);
	}
}

static void the_clock_of_the_host_is_told(void)
{
	char line[REPORT_AGE_SIZE];

	report_time_header(UINT64_C(1795262400) * USEC_PER_SEC, line);
	CHECK_STR(line, "Assay-Time: 2026-11-21T12:00:00.000Z");
}

static const struct test tests[] = {
	TEST(the_age_of_a_report_is_told_in_seconds),
	TEST(the_clock_of_the_host_is_told),
};

TEST_SUITE(tests);
