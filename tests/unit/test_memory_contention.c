/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/contention.h"

#include <sched.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/memory/numa.h"
#include "probes/memory/team.h"
#include "tests/unit/test.h"

enum { CPUS = 128 };

#define NS_PER_S UINT64_C(1000000000)

/* Two looks one second apart; all cores idle in between. */
static struct contention looks(void)
{
	struct contention c = { .proc_fd = -1, .self_fd = -1 };
	size_t i;

	c.first.at_us = USEC_PER_SEC;
	c.second.at_us = 2 * USEC_PER_SEC;
	c.first.n_cores = c.second.n_cores = CPUS;
	c.first.cores = xcalloc(CPUS, sizeof(*c.first.cores));
	c.second.cores = xcalloc(CPUS, sizeof(*c.second.cores));
	for (i = 0; i < CPUS; i++)
		c.first.cores[i].present = c.second.cores[i].present = true;
	return c;
}

static void cores_in_use_are_told_from_a_daemon(void)
{
	static const struct {
		unsigned n_cpus;     /* of the node, from CPU 0 */
		unsigned used;	     /* how many of them by others, */
		double share, steal; /* each so much of its time */
		const char *says;    /* NULL: not busy */
	} cases[] = {
		{ 2, 0, 0, 0, NULL },
		{ 2, 1, 0.49, 0, NULL },
		{ 2, 1, 0.51, 0, "CPU 0 of numa:7 is 51 % busy with other work" },
		{ 2, 1, 0, 0.6, "CPU 0 of numa:7 is 60 % busy with other work" },
		{ 2, 2, 0.3, 0.25, "is 55 % busy with other work: the kernel or the hypervisor" },
		/* One of a hundred is a daemon, six are a job. */
		{ 100, 1, 1, 0, NULL },
		{ 100, 5, 1, 0, NULL },
		{ 100, 6, 1, 0, "CPU 0 of numa:7 is 100 % busy with other work" },
		/* A little on each is the noise of a host. */
		{ 100, 100, 0.2, 0, NULL },
		/* A CPU that the looks do not know. */
		{ 0, 0, 0, 0, NULL },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(contention_close) struct contention c = looks();
		unsigned cpus[CPUS];
		const struct numa_node node = { .id = 7, .cpus = { cpus, cases[i].n_cpus } };
		CLEANUP(freep) char *why = NULL;

		for (k = 0; k < cases[i].n_cpus; k++)
			cpus[k] = (unsigned)k;
		for (k = 0; k < cases[i].used; k++) {
			c.second.cores[k].busy_ns = (uint64_t)(cases[i].share * NS_PER_S);
			c.second.cores[k].steal_ns = (uint64_t)(cases[i].steal * NS_PER_S);
		}
		why = contention_before(&c, &node);
		if (cases[i].says)
			CHECK_HAS(why, cases[i].says);
		else
			CHECK_STR(why, NULL);
	}
}

static void without_proc_nobody_is_busy(void)
{
	CLEANUP(contention_close) struct contention c = { .proc_fd = -1, .self_fd = -1 };
	unsigned cpus[] = { (unsigned)sched_getcpu(), CPUS };
	const struct numa_node node = { .cpus = { cpus, 2 }, .cores = { cpus, 1 } };
	CLEANUP(freep) char *why = contention_before(&c, &node);
	struct team *team = NULL;
	struct stint stint;

	CHECK_STR(why, NULL);
	CHECK_EQ(team_new(cpus, 1, &team, NULL), 0);
	stint = contention_stint(&c, team, &node);
	CHECK_EQ(stint.waited_ns, 0);
	CHECK_EQ(stint.stolen_ns, 0);
	why = contention_since(&c, &stint, team, &node);
	CHECK_STR(why, NULL);
	team_free(team);
}

static const struct test tests[] = {
	TEST(cores_in_use_are_told_from_a_daemon),
	TEST(without_proc_nobody_is_busy),
};

TEST_SUITE(tests);
