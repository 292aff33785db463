/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of pairs: complete, disjoint, and no more of them than needed. */
#include "probes/rdma/flow.h"
#include "probes/rnic_pair/pair_schedule.h"
#include "tests/unit/test.h"

enum { PORTS_MAX = 65 };

static void every_two_meet_once_and_none_plays_twice_in_a_round(void)
{
	struct pair_match matches[PORTS_MAX / 2];
	size_t n, round, i;

	for (n = 2; n <= PORTS_MAX; n++) {
		unsigned met[PORTS_MAX][PORTS_MAX] = { { 0 } };
		size_t total = 0;

		for (round = 0; round < pair_rounds(n); round++) {
			bool plays[PORTS_MAX] = { false };
			size_t made = pair_round(n, round, matches);

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
	CHECK_EQ(pair_rounds(0), 0);
	CHECK_EQ(pair_rounds(1), 0);
	CHECK_EQ(pair_rounds(2), 1);
	CHECK_EQ(pair_rounds(3), 3);
	CHECK_EQ(pair_rounds(8), 7);
	CHECK_EQ(pair_rounds(9), 9);
}

static void nobody_meets_nobody(void)
{
	struct pair_match match;

	CHECK_EQ(pair_round(0, 0, &match), 0);
	CHECK_EQ(pair_round(1, 0, &match), 0);
}

/* What comes too late is killed with the samples that it had. */
static void patience_ends_before_the_budget(void)
{
	const uint64_t s = USEC_PER_SEC;

	CHECK_EQ(pair_patience_us(1 * s, 60 * s), 3 * s);
	CHECK_EQ(pair_patience_us(3 * s, 10 * s), 9 * s - FLOW_DRAIN_US);
	CHECK_EQ(pair_patience_us(2 * s, 4 * s), 2 * s);
	CHECK_EQ(pair_patience_us(1 * s, 0), 1 * s);
}

static const struct test tests[] = {
	TEST(every_two_meet_once_and_none_plays_twice_in_a_round),
	TEST(there_are_as_few_rounds_as_can_be),
	TEST(nobody_meets_nobody),
	TEST(patience_ends_before_the_budget),
};

int main(void)
{
	return TEST_MAIN("pair schedule", tests);
}
