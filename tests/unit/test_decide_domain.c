/* SPDX-License-Identifier: Apache-2.0 */
/* A switch, and everything below it. */
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/decide.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

enum { NODES = 320, OF_RACK = 64, ALIKE = 6 /* 2 percent of them */ };
#define NOW (20000 * USEC_PER_DAY)

struct world {
	struct policy policy;
	struct fleet fleet;
	struct breaker breaker;
	struct outcome out;
};

static void world_begin(struct world *w)
{
	size_t i;

	*w = (struct world){ .policy = policy_init() };
	w->policy.mode = MODE_ENFORCE;
	w->policy.rules = xcalloc(1, sizeof(*w->policy.rules));
	w->policy.n_rules = 1;
	w->policy.rules[0] = (struct policy_rule){ .name = xstrdup("slow"),
						   .check = xstrdup("loopback.*"),
						   .k = 2,
						   .n = 3,
						   .action = ACTION_RETEST };
	for (i = 0; i < NODES; i++) {
		CLEANUP(freep) char *name = xasprintf("n%03zu", i);
		CLEANUP(freep) char *rack = xasprintf("r%zu", i / OF_RACK);
		struct fleet_node *node = fleet_need(&w->fleet, name, NOW);

		fleet_set_sku(&w->fleet, node, "hgx");
		fleet_set_domain(&w->fleet, node, rack);
		node->reported_us = NOW;
	}
}

static void world_end(struct world *w)
{
	outcome_release(&w->out);
	fleet_release(&w->fleet);
	policy_release(&w->policy);
}

static void slow(struct world *w, size_t i)
{
	const struct finding_news news = { .check = "loopback.write_bw",
					   .subject = "mlx5_0:1",
					   .severity = SEVERITY_WARN,
					   .source = SOURCE_FLEET,
					   .seen_us = NOW };

	(void)fleet_note(&w->fleet, w->fleet.nodes[i], &news);
	(void)fleet_note(&w->fleet, w->fleet.nodes[i], &news);
}

static size_t standing(const struct world *w, int kind)
{
	size_t n = 0, i;

	for (i = 0; i < w->out.n_notices; i++)
		n += w->out.notices[i].kind == kind && w->out.notices[i].ended_us == 0;
	return n;
}

static size_t acted_on(const struct world *w)
{
	size_t n = 0, i;

	for (i = 0; i < w->out.n; i++)
		n += w->out.items[i].action == DECIDE_RETEST ||
		     w->out.items[i].action == DECIDE_CORDON;
	return n;
}

/* Its hosts tell one after the other, as each runs its tests. */
static void a_rack_that_goes_bad_is_one_notice_of_the_rack(void)
{
	CLEANUP(world_end) struct world w;
	size_t i;

	world_begin(&w);
	for (i = 0; i < OF_RACK; i++) {
		slow(&w, OF_RACK + i);
		policy_decide(&w.policy, &w.fleet, &w.breaker, NOW, &w.out);
		CHECK_EQ(standing(&w, NOTICE_DOMAIN), i + 1 >= ALIKE);
		CHECK_EQ(standing(&w, NOTICE_FLEET), 0);
		if (i + 1 >= ALIKE)
			CHECK_EQ(acted_on(&w), 0);
	}
	CHECK(!w.breaker.open);
}

static void as_many_all_over_the_fleet_are_one_notice_of_the_fleet(void)
{
	CLEANUP(world_end) struct world w;
	size_t i;

	world_begin(&w);
	for (i = 0; i < ALIKE; i++)
		slow(&w, i * (NODES / ALIKE));
	policy_decide(&w.policy, &w.fleet, &w.breaker, NOW, &w.out);
	CHECK_EQ(standing(&w, NOTICE_DOMAIN), 0);
	CHECK_EQ(standing(&w, NOTICE_FLEET), 1);
	CHECK_EQ(acted_on(&w), 0);
}

static const struct test tests[] = {
	TEST(a_rack_that_goes_bad_is_one_notice_of_the_rack),
	TEST(as_many_all_over_the_fleet_are_one_notice_of_the_fleet),
};

TEST_SUITE(tests);
