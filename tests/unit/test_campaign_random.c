/* SPDX-License-Identifier: Apache-2.0 */
/* Campaigns of hosts that come and go at random: each campaign ends, and names no good host. */
#include <stdio.h>

#include "lib/base/err.h"
#include "tests/unit/campaign_lab.h"
#include "tests/unit/test.h"

enum { RUNS = 400, RUNS_FULL = 20000, HOSTS_LEAST = 3, HOSTS_MOST = 24 };

/* Draws bad hosts, fewer than half, and some that do not cooperate. */
static struct lab *drawn(struct random *chance, size_t *ret_bad)
{
	static const enum lab_way ways[] = { LAB_SILENT, LAB_AWAY, LAB_BUSY };
	const size_t n = HOSTS_LEAST + random_below(chance, HOSTS_MOST - HOSTS_LEAST + 1);
	struct lab *lab = lab_new(n, 1 + random_below(chance, 3), 1 + random_below(chance, n));
	const struct campaign_ask ask = { .measure.kind = (int)random_below(chance, 2),
					  .at_once = 2 + random_below(chance, n) };
	size_t i, most = (n - 1) / 2, bad = random_below(chance, MIN(most, (size_t)3) + 1);

	lab->chance = random_seeded(random_next(chance));
	for (i = 0; i < bad; i++)
		lab->part[random_below(chance, n)] = 0.3 + 0.4 * random_unit(chance);
	for (i = random_below(chance, 3); i > 0; i--)
		lab->ways[random_below(chance, n)] = ways[random_below(chance, ARRAY_SIZE(ways))];
	CHECK_EQ(lab_begin(lab, &ask, NULL), 0);
	*ret_bad = bad;
	return lab;
}

static bool is_bad(const struct lab *lab, size_t host)
{
	return lab->part[host] < 1;
}

/* Are fewer than half of the cooperating hosts bad? Otherwise good and bad cannot be told apart. */
static bool can_tell(const struct lab *lab)
{
	size_t play = 0, bad = 0, i;

	for (i = 0; i < lab->n; i++) {
		play += lab->ways[i] == LAB_MEASURES;
		bad += lab->ways[i] == LAB_MEASURES && is_bad(lab, i);
	}
	return 2 * bad < play;
}

static void no_good_host_is_named_and_every_campaign_ends(void)
{
	struct random chance = random_seeded(20261122);
	size_t run, i, bad, there = 0, named = 0;

	for (run = 0; run < test_times(RUNS_FULL, RUNS); run++) {
		CLEANUP(lab_freep) struct lab *lab = drawn(&chance, &bad);

		lab_play(lab);
		CHECK(lab->campaign->rounds <= lab->campaign->rounds_max);
		CHECK(lab->most_at_once <= MAX(lab->campaign->at_once, (size_t)2));
		for (i = 0; i < lab->n; i++) {
			const int says = lab_says(lab, i);

			CHECK(says <= 0 || is_bad(lab, i));
			CHECK(says >= 0 || !is_bad(lab, i) || !can_tell(lab));
			there += is_bad(lab, i) && lab->ways[i] == LAB_MEASURES;
			named += is_bad(lab, i) && says > 0;
		}
	}
	/* Uncooperative hosts cost partners and rounds: most bad hosts are found, but not all. */
	(void)printf("%zu of %zu bad hosts named in %zu campaigns\n", named, there, run);
	CHECK(named * 10 >= there * 8);
}

static const struct test tests[] = {
	TEST(no_good_host_is_named_and_every_campaign_ends),
};

TEST_SUITE(tests);
