/* SPDX-License-Identifier: Apache-2.0 */
/* The time allowed for a pair. */
#include "probes/rdma/flow.h"
#include "probes/rnic_pair/pair_schedule.h"
#include "tests/unit/test.h"

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
	TEST(patience_ends_before_the_budget),
};

TEST_SUITE(tests);
