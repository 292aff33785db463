/* SPDX-License-Identifier: Apache-2.0 */
/* Compute speeds of hosts from their own tests. */
#include "controller/fleet/host_speeds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/self_baseline.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

enum { PARTS = 8 };

/* Runs of a host whose GPUs reach `rate`, one of them `slow` times as much. */
static void runs(struct baselines *b, const char *params, const char *node, double rate,
		 double slow, int n)
{
	const struct baseline_about about = { .sku = "h100",
					      .check = "gemm.rate",
					      .locality = "",
					      .unit = "FLOP/s",
					      .params = params,
					      .better = BETTER_HIGHER };
	struct self_baseline_value values[PARTS];
	char names[PARTS][16];
	int i, r;

	for (i = 0; i < PARTS; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "gpu:%d", i);
		values[i] = (struct self_baseline_value){ names[i], rate * (i == 0 ? slow : 1) };
	}
	for (r = 0; r < n; r++)
		self_baselines_learn(baseline_usuals(baselines_need(b, &about)), node, values,
				     PARTS, 1);
}

static void fleet(struct baselines *b, const char *params, int n)
{
	char node[16];
	int i;

	for (i = 0; i < n; i++) {
		(void)snprintf(node, sizeof(node), "node-%02d", i);
		runs(b, params, node, 1 + 0.01 * (i % 3 - 1), 1, HOST_SPEEDS_RUNS_SURE);
	}
}

static const struct host_speed *speed(const struct map *map, const char *node)
{
	static const struct host_speed none = { .speed = NAN };
	const struct host_speed *found = map_find(map, node);

	return found ? found : &none;
}

static void a_host_is_as_fast_as_its_slowest_gpu(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	struct map map;

	fleet(&b, "{}", 30);
	runs(&b, "{}", "one", 1, 0.9, HOST_SPEEDS_RUNS_SURE);
	runs(&b, "{}", "all", 0.9, 1, HOST_SPEEDS_RUNS_SURE);
	runs(&b, "{}", "new", 1, 1, HOST_SPEEDS_RUNS_SURE - 1);
	runs(&b, "{}", "never", 1, 1, 0);
	host_speeds_find(&b, &map);
	CHECK_EQ(map.n, 33);
	CHECK_NEAR(speed(&map, "node-01")->speed, 1, 0.002);
	CHECK_NEAR(speed(&map, "node-00")->speed, 0.99, 0.002);
	CHECK_NEAR(speed(&map, "one")->speed, 0.9, 0.002);
	CHECK_NEAR(speed(&map, "all")->speed, 0.9, 0.002);
	CHECK_NEAR(speed(&map, "new")->speed, 1, 0.002);
	CHECK(speed(&map, "one")->sure && !speed(&map, "new")->sure);
	CHECK(isnan(speed(&map, "never")->speed));
	CHECK_EQ(speed(&map, "one")->of, 33);
	CHECK(speed(&map, "one")->good.spread > 0.005 && speed(&map, "one")->good.spread < 0.034);
	CHECK(speed(&map, "one")->good.low > 0.9 && speed(&map, "one")->good.low < 0.98);
	map_release(&map, NULL);
}

static void few_hosts_do_not_say_what_is_usual(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	struct map map;

	fleet(&b, "{}", HOST_SPEEDS_HOSTS_MIN - 1);
	host_speeds_find(&b, &map);
	CHECK_EQ(map.n, 0);
	map_release(&map, NULL);
}

/* With another driver a few hosts are compared with each other alone. */
static void the_most_hosts_are_the_measure(void)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	struct map map;

	fleet(&b, "{\"a\":1}", 8);
	fleet(&b, "{\"b\":1}", 20);
	runs(&b, "{\"a\":1}", "both", 0.8, 1, HOST_SPEEDS_RUNS_SURE);
	runs(&b, "{\"b\":1}", "both", 0.9, 1, HOST_SPEEDS_RUNS_SURE);
	runs(&b, "{\"c\":1}", "both", 0.7, 1, HOST_SPEEDS_RUNS_SURE);
	host_speeds_find(&b, &map);
	CHECK_NEAR(speed(&map, "both")->speed, 0.9, 0.002);
	CHECK_EQ(speed(&map, "both")->of, 21);
	map_release(&map, NULL);
}

/*
 * Sixty hosts of parts that spread by 2 %, and of levels that do by 1 %; `slowed` of them are a
 * tenth slower as a whole.
 */
static struct silicon good_of(int slowed)
{
	CLEANUP(baselines_release) struct baselines b = { 0 };
	struct silicon good;
	struct map map;
	char node[16];
	int i;

	for (i = 0; i < 60; i++) {
		/* i * 7 goes through all levels in no order. */
		double level = 1 + 0.01 * ((i * 7) % 15 - 7) / 4;

		(void)snprintf(node, sizeof(node), "node-%02d", i);
		runs(&b, "{}", node, i < slowed ? level * 0.9 : level, 0.98 + 0.04 * (i % 3) / 2,
		     HOST_SPEEDS_RUNS_SURE);
	}
	host_speeds_find(&b, &map);
	good = speed(&map, "node-59")->good;
	map_release(&map, NULL);
	return good;
}

static void what_slows_a_quarter_of_the_hosts_hides_nobody(void)
{
	const struct silicon clean = good_of(0), slowed = good_of(15);

	CHECK(clean.low > 0.85 && clean.low < 0.97);
	CHECK_NEAR(slowed.spread, clean.spread, 0.006);
	CHECK_NEAR(slowed.low, clean.low, 0.02);
}

static const struct test tests[] = {
	TEST(a_host_is_as_fast_as_its_slowest_gpu),
	TEST(few_hosts_do_not_say_what_is_usual),
	TEST(the_most_hosts_are_the_measure),
	TEST(what_slows_a_quarter_of_the_hosts_hides_nobody),
};

TEST_SUITE(tests);
