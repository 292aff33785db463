/* SPDX-License-Identifier: Apache-2.0 */
/* Spare hosts, compared with exact sums computed elsewhere: sum of C(n, k) p^k (1 - p)^(n - k). */
#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/remedy/standby.h"
#include "tests/unit/test.h"

static void spares_are_as_many_as_exact_fractions_say(void)
{
	static const struct {
		size_t hosts;
		double out, certainty;
		size_t spares;
		double reached;
	} cases[] = {
		{ 0, 0.5, 0.99, 0, 1 },
		{ 1, 0.01, 0.99, 0, 0.99 }, /* just enough */
		{ 1, 0.02, 0.99, 1, 1 },
		{ 10, 0.01, 0.99, 1, 0.9957337997571686 },
		{ 128, 0.001, 0.99, 1, 0.9925237797048413 },
		{ 1000, 0.002, 0.99, 6, 0.9955142212404086 },
		{ 2500, 0.0004, 0.999, 5, 0.9994082650549562 },
		{ 100, 0.3, 0.5, 30, 0.5491236007687904 },
		{ 2048, 0.01, 0.99, 32, 0.9936612647517871 },
		{ 16, 1, 0.99, 16, 1 },
		{ 16, 0, 0.99, 0, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct standby standby = { 7, 7 };

		CHECK_EQ(standby_find(cases[i].hosts, cases[i].out, cases[i].certainty, &standby,
				      NULL),
			 0);
		CHECK_EQ(standby.spares, cases[i].spares);
		CHECK_NEAR(standby.certainty, cases[i].reached, 1e-10);
	}
}

/* Terms of a million hosts are far below the least double: only their logarithms are not 0. */
static void a_million_hosts_do_not_vanish(void)
{
	struct standby standby = { 0, 0 };

	CHECK_EQ(standby_find(1000000, 0.01, 0.99, &standby, NULL), 0);
	/* Mean 10000, deviation 99.5: 2.326 of them beyond, and the half of a step. */
	CHECK(standby.spares >= 10231 && standby.spares <= 10234);
	CHECK(standby.certainty >= 0.99 && standby.certainty < 0.991);
}

static void what_is_out_of_bounds_is_told(void)
{
	struct standby standby = { 7, 7 };
	struct err err = ERR_INIT;

	CHECK_EQ(standby_find(10, 1.5, 0.99, &standby, &err), -EINVAL);
	CHECK_STR(err.msg, "a host is out with probability 1.5: expected 0 to 1");
	CHECK_EQ(standby_find(10, NAN, 0.99, &standby, NULL), -EINVAL);
	CHECK_EQ(standby_find(10, 0.1, 1, &standby, NULL), -EINVAL);
	CHECK_EQ(standby_find(10, 0.1, 0, &standby, NULL), -EINVAL);
	CHECK_EQ(standby_find(STANDBY_HOSTS_MAX + 1, 0.1, 0.9, &standby, NULL), -EINVAL);
	CHECK_EQ(standby.spares, 7);
}

static const struct test tests[] = {
	TEST(spares_are_as_many_as_exact_fractions_say),
	TEST(a_million_hosts_do_not_vanish),
	TEST(what_is_out_of_bounds_is_told),
};

TEST_SUITE(tests);
