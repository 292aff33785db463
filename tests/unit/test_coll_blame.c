/* SPDX-License-Identifier: Apache-2.0 */
/* Finding slow links from the rates of a ring. */
#include <math.h>

#include "lib/base/macro.h"
#include "probes/coll/blame.h"
#include "tests/unit/test.h"

static void a_rank_between_two_slow_links_is_named(void)
{
	static const struct {
		double rates[8];
		unsigned n;
		int kind;
		unsigned rank;
	} cases[] = {
		{ { 1, 1 }, 2, COLL_BLAME_NOBODY, 0 },
		{ { 1, 0.85 }, 2, COLL_BLAME_NOBODY, 0 },
		{ { 1, 0.5 }, 2, COLL_BLAME_LINK, 1 },
		{ { 0.5, 1, 0.5 }, 3, COLL_BLAME_RANK, 0 },
		{ { 1, 0.5, 0.5, 1 }, 4, COLL_BLAME_RANK, 2 },
		{ { 1, 0.5, 1, 0.4 }, 4, COLL_BLAME_MANY, 3 },
		{ { NAN, 1, 1, 0.4 }, 4, COLL_BLAME_LINK, 3 },
		{ { NAN, NAN }, 2, COLL_BLAME_NOBODY, 0 },
		/* One that is faster than all others does not make them slow. */
		{ { 1, 1, 1, 2, 1, 1, 1, 1 }, 8, COLL_BLAME_NOBODY, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct coll_blame blame = coll_blame_slow(cases[i].rates, cases[i].n);

		CHECK_EQ(blame.kind, cases[i].kind);
		CHECK_EQ(blame.rank, cases[i].rank);
	}
}

static const struct test tests[] = {
	TEST(a_rank_between_two_slow_links_is_named),
};

TEST_SUITE(tests);
