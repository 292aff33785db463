/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_view.h"

#include <jansson.h>
#include <stdlib.h>

#include "controller/cluster/cluster.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"
#include "tests/unit/test.h"

#define NOW_US UINT64_C(1700000000000000)

enum { OURS = 1, PRE = 2, CLOSED = 4 }; /* our mark, on a cordon of others, unschedulable */

static struct cluster_mark mark = { .reason = (char *)(uintptr_t) "gpu 1 is bad" };

static struct cluster_node node_of(unsigned shown, uint64_t hold_us)
{
	mark.pre = (shown & PRE) != 0;
	return (struct cluster_node){ .mark = shown & OURS ? &mark : NULL,
				      .unschedulable = (shown & CLOSED) != 0,
				      .hold_us = hold_us,
				      .ready = true,
				      .managed = true };
}

static void what_the_record_does_not_know_is_observed(void)
{
	static const struct {
		unsigned shown;
		int state;			 /* enum life_state */
		uint64_t hold_us, hold_until_us; /* on the node; of the record */
		enum observed observed;
	} rows[] = {
		{ 0, LIFE_HEALTHY, 0, 0, OBSERVED_NOTHING },
		{ CLOSED, LIFE_HEALTHY, 0, 0, OBSERVED_NOTHING }, /* another's */
		{ OURS | CLOSED, LIFE_CORDONED, 0, 0, OBSERVED_NOTHING },
		{ OURS | CLOSED, LIFE_VERIFYING, 0, 0, OBSERVED_NOTHING },
		{ OURS | CLOSED, LIFE_HEALTHY, 0, 0, OBSERVED_CORDON },
		{ OURS, LIFE_CORDONED, 0, 0, OBSERVED_UNCORDON },
		{ OURS, LIFE_HEALTHY, 0, 0, OBSERVED_UNCORDON },
		{ 0, LIFE_CORDONED, 0, 0, OBSERVED_UNMARKED },
		{ CLOSED, LIFE_STICKY, 0, 0, OBSERVED_UNMARKED },
		{ 0, LIFE_HEALTHY, NOW_US + 1, NOW_US + 1, OBSERVED_NOTHING },
		{ 0, LIFE_HEALTHY, NOW_US, NOW_US, OBSERVED_HOLD_OVER }, /* its time is over */
		{ 0, LIFE_HEALTHY, NOW_US + 1, 0, OBSERVED_HOLD_OVER },
		{ 0, LIFE_HEALTHY, 0, NOW_US + 1, OBSERVED_UNHOLD },
		{ 0, LIFE_CORDONED, 0, NOW_US + 1, OBSERVED_UNMARKED }, /* the graver first */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct cluster_node c = node_of(rows[i].shown, rows[i].hold_us);
		const struct node_record record = { .life.state = rows[i].state,
						    .hold_until_us = rows[i].hold_until_us };

		CHECK_EQ(node_view_observe(&c, &record, NOW_US), rows[i].observed);
	}
}

static void a_younger_mark_is_another_cordon(void)
{
	static const struct {
		int state;
		bool manual;
		uint64_t marked_us, mark_us; /* as the record and as the node has it */
		enum observed observed;
	} rows[] = {
		{ LIFE_VERIFYING, false, NOW_US - 2, NOW_US - 1, OBSERVED_ANEW },
		{ LIFE_CORDONED, false, NOW_US - 2, NOW_US - 1, OBSERVED_ANEW },
		{ LIFE_VERIFYING, false, NOW_US - 1, NOW_US - 1, OBSERVED_NOTHING },
		/* What is seen late, or was sent twice and done at once. */
		{ LIFE_VERIFYING, false, NOW_US - 1, NOW_US - 2, OBSERVED_NOTHING },
		{ LIFE_VERIFYING, false, 0, NOW_US - 1, OBSERVED_NOTHING }, /* not known yet */
		/* A person gives it back, whoever set it since. */
		{ LIFE_STICKY, false, NOW_US - 2, NOW_US - 1, OBSERVED_NOTHING },
		{ LIFE_CORDONED, true, NOW_US - 2, NOW_US - 1, OBSERVED_NOTHING },
		{ LIFE_HEALTHY, false, 0, NOW_US - 1, OBSERVED_CORDON },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cluster_mark shown = { .at_us = rows[i].mark_us };
		const struct cluster_node c = { .mark = &shown, .unschedulable = true };
		const struct node_record record = { .life.state = rows[i].state,
						    .life.manual = rows[i].manual,
						    .marked_us = rows[i].marked_us };

		CHECK_EQ(node_view_observe(&c, &record, NOW_US), rows[i].observed);
	}
}

static void an_override_counts_when_it_is_longer(void)
{
	const struct cluster_node c = { .override_us = NOW_US + 2 };
	struct node_record record = { .override_until_us = NOW_US + 1 };

	CHECK(node_view_is_overridden(&c, &record, NOW_US));
	CHECK(!node_view_is_overridden(&c, &record, NOW_US + 2)); /* over */
	record.override_until_us = NOW_US + 2;
	CHECK(!node_view_is_overridden(&c, &record, NOW_US)); /* known */
}

static void cordons_of_others_are_told_from_ours(void)
{
	struct cluster_node c = node_of(CLOSED, 0);

	CHECK(node_view_is_by_others(&c));
	c = node_of(OURS | CLOSED, 0);
	CHECK(!node_view_is_by_others(&c));
	c = node_of(OURS | PRE | CLOSED, 0); /* it was another's before it was ours */
	CHECK(node_view_is_by_others(&c));
	c = node_of(0, 0);
	CHECK(!node_view_is_by_others(&c));
	c.leaving = true;
	CHECK(node_view_is_by_others(&c));
}

static void facts_replace_those_of_before(void)
{
	struct fleet fleet = { 0 };
	struct fleet_node *node = fleet_need(&fleet, "a", NOW_US);
	struct cluster_node c = node_of(0, 0);

	node->out = OUT_OURS;
	c.ready = false;
	node_view_out(node, &c, false, true);
	node_view_facts(&fleet, node, &c, "rack");
	CHECK_EQ(node->out, OUT_OURS | OUT_OTHERS | OUT_NOT_READY | OUT_COMING);
	CHECK_EQ(node->domain, NAME_NONE);
	c.ready = true;
	c.labels = json_pack("{s:s}", "rack", "r1");
	c.managed = false;
	node_view_out(node, &c, false, false);
	node_view_facts(&fleet, node, &c, "rack");
	CHECK_EQ(node->out, OUT_OURS);
	CHECK_STR(names_text(&fleet.domains, node->domain), "r1");
	CHECK(!node->managed);
	c.hold_us = NOW_US; /* it is over, and still there */
	node_view_out(node, &c, false, false);
	CHECK_EQ(node->out, OUT_OURS | OUT_OTHERS | OUT_COMING);
	node->out = OUT_HOLD;
	node_view_out(node, &c, false, false);
	CHECK_EQ(node->out, OUT_HOLD);
	json_decref(c.labels);
	fleet_release(&fleet);
}

static void the_cluster_is_told_once_how_it_is(void)
{
	struct policy policy = policy_init();
	struct fleet fleet = { 0 };
	struct fleet_node *node = fleet_need(&fleet, "a", NOW_US);
	struct cluster_node c = node_of(0, 0);
	struct node_view_condition told;
	int before = 0;

	policy.mode = MODE_DRY_RUN;
	node->reported_us = NOW_US;
	CHECK(!node_view_tell(&c, node, &policy, NOW_US, &before, &told));
	policy.mode = MODE_ENFORCE;
	CHECK(node_view_tell(&c, node, &policy, NOW_US, &before, &told));
	CHECK_EQ(told.healthy, 1);
	CHECK_STR(told.reason, "AssayHealthy");
	CHECK_STR(told.message, "healthy");
	free(told.message);
	CHECK(!node_view_tell(&c, node, &policy, NOW_US, &before, &told));
	CHECK(node_view_tell(&c, node, &policy, NOW_US + policy.silent_after_us, &before, &told));
	CHECK_STR(told.reason, "AssaySilent");
	free(told.message);
	c = node_of(OURS | CLOSED, 0);
	/* What we did is told all the same. */
	c.hands_off = (char *)(uintptr_t) "another owner is at work";
	node->record.life.state = LIFE_CORDONED;
	CHECK(node_view_tell(&c, node, &policy, NOW_US, &before, &told));
	CHECK_EQ(told.healthy, 0);
	CHECK_STR(told.message, "cordoned: gpu 1 is bad");
	free(told.message);
	fleet_release(&fleet);
	policy_release(&policy);
}

static const struct test tests[] = {
	TEST(what_the_record_does_not_know_is_observed),
	TEST(a_younger_mark_is_another_cordon),
	TEST(an_override_counts_when_it_is_longer),
	TEST(cordons_of_others_are_told_from_ours),
	TEST(facts_replace_those_of_before),
	TEST(the_cluster_is_told_once_how_it_is),
};

TEST_SUITE(tests);
