/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/http_date.h"

#include "lib/base/duration.h"
#include "tests/unit/test.h"

#define NOON UINT64_C(1795694400) /* Thu, 26 Nov 2026 12:00:00 GMT */

static void what_lies_between_question_and_answer_is_no_difference(void)
{
	static const struct {
		uint64_t asked_s, answered_s;
		long long ahead_s;
	} rows[] = {
		{ NOON, NOON, 0 },	    { NOON - 3, NOON + 3, 0 },	  { NOON + 7, NOON + 9, 7 },
		{ NOON - 9, NOON - 7, -7 }, { NOON + 90, NOON + 90, 90 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		long long ahead = 99;

		CHECK(http_date_ahead("Thu, 26 Nov 2026 12:00:00 GMT",
				      rows[i].asked_s * USEC_PER_SEC + 999999,
				      rows[i].answered_s * USEC_PER_SEC, &ahead));
		CHECK_EQ(ahead, rows[i].ahead_s);
	}
}

static void what_is_no_date_says_nothing(void)
{
	static const char *const rows[] = { "", "noon", "Thu, 26 Nov 2026 12:00:00 GMT+1",
					    "2026-11-26T12:00:00Z" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		long long ahead = 99;

		CHECK(!http_date_ahead(rows[i], 0, 0, &ahead));
		CHECK_EQ(ahead, 99);
	}
}

static const struct test tests[] = {
	TEST(what_lies_between_question_and_answer_is_no_difference),
	TEST(what_is_no_date_says_nothing),
};

TEST_SUITE(tests);
