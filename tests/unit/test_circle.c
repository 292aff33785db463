/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of pairs: complete, disjoint, and no more of them than needed. */
#include "lib/base/circle.h"
#include "tests/unit/test.h"

enum { PLAYERS_MAX = 65 };

static void every_two_meet_once_and_none_plays_twice_in_a_round(void)
{
	struct match matches[PLAYERS_MAX / 2];
	size_t n, round, i;

	for (n = 2; n <= PLAYERS_MAX; n++) {
		unsigned met[PLAYERS_MAX][PLAYERS_MAX] = { { 0 } };
		size_t total = 0;

		for (round = 0; round < circle_rounds(n); round++) {
			bool plays[PLAYERS_MAX] = { false };
			size_t made = circle_round(n, round, matches);

			CHECK_EQ(made, n / 2);
			for (i = 0; i < made; i++) {
				CHECK(matches[i].a < matches[i].b && matches[i].b < n);
				CHECK(!plays[matches[i].a] && !plays[matches[i].b]);
				plays[matches[i].a] = plays[matches[i].b] = true;
				CHECK_EQ(met[matches[i].a][matches[i].b]++, 0);
				total++;
			}
		}
		CHECK_EQ(total, n * (n - 1) / 2);
	}
}

static void there_are_as_few_rounds_as_can_be(void)
{
	CHECK_EQ(circle_rounds(0), 0);
	CHECK_EQ(circle_rounds(1), 0);
	CHECK_EQ(circle_rounds(2), 1);
	CHECK_EQ(circle_rounds(3), 3);
	CHECK_EQ(circle_rounds(8), 7);
	CHECK_EQ(circle_rounds(9), 9);
}

static void nobody_meets_nobody(void)
{
	struct match match;

	CHECK_EQ(circle_round(0, 0, &match), 0);
	CHECK_EQ(circle_round(1, 0, &match), 0);
}

static const struct test tests[] = {
	TEST(every_two_meet_once_and_none_plays_twice_in_a_round),
	TEST(there_are_as_few_rounds_as_can_be),
	TEST(nobody_meets_nobody),
};

TEST_SUITE(tests);
