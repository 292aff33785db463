/* SPDX-License-Identifier: Apache-2.0 */
/* The variation of good hosts according to their tests. */
#include "lib/judge/silicon.h"

#include <math.h>

#include "tests/unit/test.h"

/* Neither the tail nor sick hosts change how far good ones are said to spread. */
static void the_middle_says_how_far_hosts_spread(void)
{
	double even[1000], tailed[1000];
	size_t i;

	for (i = 0; i < 1000; i++) {
		even[i] = 0.95 + 0.0001 * (double)i; /* 0.95 to 1.05 */
		tailed[i] = i < 50 ? 0.6 : even[i];
	}
	CHECK_NEAR(silicon_spread(even, 1000), 0.08 / 2.563, 0.001);
	CHECK_NEAR(silicon_spread(tailed, 1000), silicon_spread(even, 1000), 1e-12);
	/* Of few it is hardly believed, of none not at all. */
	CHECK_NEAR(silicon_spread(even, 0), 0.034, 1e-9);
	CHECK(silicon_spread((const double[]){ 1, 1, 1 }, 3) > 0.02);
	CHECK_NEAR(silicon_low(even, 1000), even[500] * exp(-3.7 * silicon_spread(even, 1000)),
		   1e-9);
	CHECK_NEAR(silicon_low(even, 0), 0, 0);
}

static const struct test tests[] = {
	TEST(the_middle_says_how_far_hosts_spread),
};

TEST_SUITE(tests);
