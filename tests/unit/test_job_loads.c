/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_loads.h"

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)

static const struct job_judge_host hosts[] = { { .name = "gpu-16", .domain = "rack-1" },
					       { .name = "gpu-17" } };

static struct job_judge_item probe(size_t host)
{
	return (struct job_judge_item){ .host = &hosts[host],
					.action = BLAME_PROBE,
					.effect = true };
}

static void what_jobs_ask_for_is_there_until_they_do_not(void)
{
	CLEANUP(job_loads_release) struct job_loads loads = { 0 };
	struct job_judge_item items[] = { probe(0), probe(1) };
	const struct job_judge_result both = { .items = items, .n = 2 };
	const struct job_judge_result none = { .n = 0 };

	items[1].waits = true; /* it loads nothing yet */
	job_loads_take(&loads, 1, &both, NOW);
	CHECK_EQ(loads.n, 1);
	CHECK_STR(loads.all[0].host, "gpu-16");
	CHECK_STR(loads.all[0].domain, "rack-1");
	items[1].waits = false;
	job_loads_take(&loads, 1, &both, NOW + 1);
	CHECK_EQ(loads.n, 2);
	CHECK_EQ(loads.all[0].since_us, NOW); /* it goes on */
	CHECK_EQ(loads.all[1].since_us, NOW + 1);
	job_loads_take(&loads, 2, &both, NOW + 2);
	CHECK_EQ(loads.n, 2); /* a host once */
	items[0].effect = false;
	job_loads_take(&loads, 1, &both, NOW + 3);
	CHECK_EQ(loads.n, 1);
	CHECK_STR(loads.all[0].host, "gpu-17");
	job_loads_take(&loads, 2, &none, NOW + 3); /* that was the other one's */
	CHECK_EQ(loads.n, 1);
	job_loads_take(&loads, 1, &none, NOW + 3);
	CHECK_EQ(loads.n, 0);
}

static void a_test_that_no_job_asked_for_loads_as_well(void)
{
	CLEANUP(job_loads_release) struct job_loads loads = { 0 };
	CLEANUP(fleet_release) struct fleet fleet = { 0 };
	struct fleet_node *node = fleet_need(&fleet, "gpu-16", NOW);
	struct job_judge_item items[] = { probe(0) };
	const struct job_judge_result one = { .items = items, .n = 1 };

	fleet_set_domain(&fleet, node, "rack-1");
	(void)fleet_need(&fleet, "gpu-17", NOW);
	node->record.ordered_us = NOW;
	job_loads_look(&loads, &fleet);
	job_loads_look(&loads, &fleet);
	CHECK_EQ(loads.n, 1);
	CHECK_STR(loads.all[0].domain, "rack-1");
	CHECK_EQ(loads.all[0].since_us, NOW);
	CHECK(loads.all[0].under_way);
	job_loads_take(&loads, 1, &one, NOW + 1); /* as after a restart: it is that job's */
	CHECK_EQ(loads.n, 1);
	CHECK_EQ(loads.all[0].since_us, NOW);
	node->record.ordered_us = 0;
	job_loads_look(&loads, &fleet);
	CHECK_EQ(loads.n, 1); /* its repeat is due */
	CHECK(!loads.all[0].under_way);
	loads.jobs[0] = 0;
	job_loads_look(&loads, &fleet);
	CHECK_EQ(loads.n, 0);
}

static const struct test tests[] = {
	TEST(what_jobs_ask_for_is_there_until_they_do_not),
	TEST(a_test_that_no_job_asked_for_loads_as_well),
};

TEST_SUITE(tests);
