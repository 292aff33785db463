/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that tests of assay-plan cannot cover: limits, boundaries, and outputs unchanged on error. */
#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/distribute.h"
#include "lib/remedy/hotspa.h"
#include "lib/remedy/hotspa_switch.h"
#include "lib/remedy/layers.h"
#include "lib/remedy/oobleck.h"
#include "lib/remedy/pipe_1f1b.h"
#include "lib/remedy/reconfigure.h"
#include "lib/remedy/split.h"
#include "tests/unit/test.h"

static void computes_end_when_the_schedule_says(void)
{
	const double forward[] = { 1, 2 }, backward[] = { 2, 4 };
	struct pipe_ends ends = { 0 };

	CHECK_NEAR(pipe_1f1b(forward, backward, 2, 1, &ends), 9, 1e-12);
	CHECK_NEAR(ends.forward[0], 1, 1e-12);
	CHECK_NEAR(ends.forward[1], 3, 1e-12);
	CHECK_NEAR(ends.backward[1], 7, 1e-12);
	CHECK_NEAR(ends.backward[0], 9, 1e-12);
	pipe_1f1b_release(&ends);
}

/* What f hosts may go for: every count of hosts down to (f + 1) * n0 is covered by f + 1 pipelines. */
static void sizes_cover_whatever_is_left(void)
{
	size_t hosts, failures, least, left;

	for (least = 1; least <= 4; least++) {
		for (failures = 0; failures <= 3; failures++) {
			for (hosts = 1; hosts <= 20; hosts++) {
				struct oobleck_sizes sizes;

				if (oobleck_sizes(hosts, failures, least, &sizes, NULL) < 0) {
					CHECK(hosts < (failures + 1) * least);
					continue;
				}
				for (left = (failures + 1) * least; left <= hosts; left++) {
					CHECK((failures + 1) * sizes.first <= left);
					CHECK((failures + 1) * sizes.last >= left);
				}
			}
		}
	}
}

static void too_many_instantiations_are_counted_and_not_listed(void)
{
	size_t sizes[64], i;
	struct oobleck_wish wish = { sizes, ARRAY_SIZE(sizes), 128, 2 };
	struct oobleck_options options = { .n = 0 };

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		sizes[i] = i + 1;
	CHECK_EQ(oobleck_options(&wish, &options, NULL), 0);
	CHECK_EQ(options.n, 0);
	CHECK(options.n_all > OOBLECK_WALK_MAX);
	/* Of 1 to 64 hosts, all partitions of 128 have two parts or more. */
	CHECK_EQ(options.n_all, options.n_enough);
	oobleck_options_release(&options);
	wish.hosts = OOBLECK_HOSTS_MAX;
	CHECK_EQ(oobleck_options(&wish, &options, NULL), 0);
	CHECK(options.n_all == UINT64_MAX || options.n_all > OOBLECK_WALK_MAX);
	wish.hosts = OOBLECK_HOSTS_MAX + 1;
	CHECK_EQ(oobleck_options(&wish, &options, NULL), -EINVAL);
}

static void what_cannot_be_had_leaves_the_outputs_alone(void)
{
	const double t[] = { 1, 1 };
	const uint64_t lengths[] = { 9 }, bounds[] = { 8, 0 };
	const struct distribute_wish few = { t, NULL, 2, 1 };
	const struct hotspa_wish longer = { lengths, 1, bounds, 2 };
	const struct hotspa_switch_shard mine[] = { { 0, 3 } }, more[] = { { 0, 4 } };
	const size_t host[] = { 0 };
	const struct hotspa_switch_wish missing = { mine, more, host, 1 };
	struct hotspa_switch_plan plan = { .n = 7 };
	struct hotspa_place place = { .group = 7 };
	struct err err = ERR_INIT;
	size_t counts[2] = { 7, 7 };

	CHECK_EQ(distribute_minmax(&few, counts, &err), -ERANGE);
	CHECK_STR(err.msg, "1 micro-batches are 1 fewer than the 2 that 2 pipelines need");
	CHECK_EQ(distribute_variance(&few, counts, &err), -ERANGE);
	CHECK_EQ(split_best(t, 2, 2, 1, counts, &err), -ERANGE);
	CHECK_STR(err.msg, "1 micro-batches are 1 fewer than 2 stages");
	CHECK_EQ(counts[0], 7);
	CHECK_EQ(hotspa_group(&longer, &place, &err), -ERANGE);
	CHECK_STR(err.msg, "a sequence of 9 is 1 longer than the first bound");
	CHECK_EQ(place.group, 7);
	CHECK_EQ(hotspa_switch_plan(&missing, &plan, &err), -ERANGE);
	CHECK_STR(err.msg, "device 0 needs rows 4 to 4, which no device has");
	CHECK_EQ(plan.n, 7);
}

static void memory_bounds_the_layers_of_a_stage(void)
{
	const double layer[] = { 2, 2, 2 };
	struct layers_memory memory = { layer, 3, 4, 1, 2, 20 };
	size_t most[3];

	layers_caps(&memory, most);
	CHECK_EQ(most[0], 7);
	CHECK_EQ(most[1], 9);
	CHECK_EQ(most[2], 7);
	memory.most = 1; /* less than what is there without a layer */
	layers_caps(&memory, most);
	CHECK_EQ(most[1], 0);
}

/* Of a hundred hosts in pipelines of two, every other one is lost. */
static void many_short_pipelines_are_merged(void)
{
	uint32_t hosts[100], lost[50];
	size_t ends[50], i;
	struct reconfigure_pipelines old = { hosts, ends, 100, 50 }, new = { .n = 0 };
	enum reconfigure_way way;

	for (i = 0; i < 100; i++)
		hosts[i] = (uint32_t)i;
	for (i = 0; i < 50; i++) {
		ends[i] = 2 * i + 2;
		lost[i] = (uint32_t)(2 * i + 1);
	}
	CHECK_EQ(reconfigure_pipelines(&old, lost, 50, 2, &new, &way, NULL), 0);
	CHECK_EQ(way, RECONFIGURE_MERGED);
	CHECK_EQ(new.n, 25);
	CHECK_EQ(new.n_hosts, 50);
	CHECK_EQ(new.hosts[0], 0);
	CHECK_EQ(new.hosts[1], 2);
	reconfigure_pipelines_release(&new);
	CHECK_EQ(reconfigure_pipelines(&old, NULL, 0, 2, &new, &way, NULL), 0);
	CHECK_EQ(way, RECONFIGURE_KEPT);
	CHECK_EQ(new.n, 50);
	reconfigure_pipelines_release(&new);
}

static void a_single_plan_is_its_own_order(void)
{
	const double cost[] = { 0 };
	size_t order[2] = { 7, 7 };
	double total = 7;

	CHECK_EQ(hotspa_order(cost, 1, 0, order, &total, NULL), 0);
	CHECK_EQ(order[0], 0);
	CHECK_EQ(order[1], 0);
	CHECK_NEAR(total, 0, 0);
	CHECK_EQ(hotspa_order(cost, 1, 1, order, &total, NULL), -EINVAL);
	CHECK_EQ(hotspa_order(cost, HOTSPA_PLANS_MAX + 1, 0, order, &total, NULL), -EINVAL);
}

static const struct test tests[] = {
	TEST(computes_end_when_the_schedule_says),
	TEST(sizes_cover_whatever_is_left),
	TEST(too_many_instantiations_are_counted_and_not_listed),
	TEST(what_cannot_be_had_leaves_the_outputs_alone),
	TEST(memory_bounds_the_layers_of_a_stage),
	TEST(many_short_pipelines_are_merged),
	TEST(a_single_plan_is_its_own_order),
};

TEST_SUITE(tests);
