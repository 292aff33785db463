/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fleet_world.h"

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

/* A time well above 0. */
#define START (20000 * USEC_PER_DAY)

void world_init(struct world *w, const char *rules, unsigned n)
{
	CLEANUP(freep) char *yaml = xasprintf("{v: 1, mode: enforce, rules: [%s]}", rules);
	CLEANUP(json_freep) json_t *doc = NULL;
	struct err err = ERR_INIT;
	struct jval root;
	unsigned i;

	*w = (struct world){ .now_us = START };
	CHECK_EQ(yaml_parse(yaml, strlen(yaml), "p.yaml", &doc, &err), 0);
	root = jval_root(doc, "p.yaml");
	w->policy = policy_init();
	CHECK_EQ(policy_decode(&root, &w->policy, &err), 0);
	CHECK_STR(err.msg, "");
	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *name = xasprintf("n%03u", i);
		struct fleet_node *node = fleet_need(&w->fleet, name, w->now_us);

		fleet_set_sku(&w->fleet, node, "hgx");
		node->reported_us = w->now_us;
	}
}

void world_release(struct world *w)
{
	outcome_release(&w->out);
	fleet_release(&w->fleet);
	policy_release(&w->policy);
}

struct fleet_node *world_node(const struct world *w, unsigned i)
{
	CLEANUP(freep) char *name = xasprintf("n%03u", i);

	return fleet_find(&w->fleet, name);
}

void later(struct world *w, uint64_t us)
{
	size_t i;

	w->now_us += us;
	for (i = 0; i < w->fleet.n; i++)
		w->fleet.nodes[i]->reported_us = w->now_us;
}

void decide(struct world *w)
{
	policy_decide(&w->policy, &w->fleet, &w->breaker, w->now_us, &w->out);
}

void decide_and_do(struct world *w)
{
	size_t i;

	decide(w);
	for (i = 0; i < w->out.n; i++) {
		struct err err = ERR_INIT;

		if (!w->out.items[i].effect)
			continue;
		CHECK_EQ(policy_applied(&w->policy, &w->fleet, &w->breaker, &w->out.items[i],
					w->now_us, NULL, &err),
			 0);
		CHECK_STR(err.msg, "");
	}
}

const struct decision *find(const struct world *w, unsigned i, int action)
{
	const struct fleet_node *node = world_node(w, i);
	size_t j;

	for (j = 0; j < w->out.n; j++) {
		if (w->out.items[j].action == action && w->out.items[j].node == node)
			return &w->out.items[j];
	}
	return NULL;
}

size_t count_of(const struct world *w, int action)
{
	size_t n = 0, i;

	for (i = 0; i < w->out.n; i++)
		n += w->out.items[i].action == action;
	return n;
}

struct finding *note(struct world *w, unsigned i, const char *check, int severity)
{
	const struct finding_news news = { .check = check,
					   .subject = "gpu:3",
					   .severity = severity,
					   .source = SOURCE_FLEET,
					   .seen_us = w->now_us };

	return fleet_note(&w->fleet, world_node(w, i), &news);
}

void tested(struct world *w, unsigned i, struct finding *finding, int outcome)
{
	fleet_tested(&w->fleet, world_node(w, i),
		     &(struct fleet_test){ .outcome = outcome,
					   .finding = finding,
					   .partner = finding ? "n009" : NULL,
					   .partner_good = true,
					   .at_us = w->now_us });
}

void happens(struct world *w, unsigned i, int event)
{
	const struct fleet_cause cause = { .event = event,
					   .who = "operator ann",
					   .why = "because",
					   .until_us = w->now_us + w->policy.override_us };
	struct err err = ERR_INIT;

	CHECK_EQ(fleet_event(&w->fleet, world_node(w, i), &cause, w->now_us, NULL, &err), 0);
	CHECK_STR(err.msg, "");
}

void reproduce(struct world *w, unsigned i, const char *check)
{
	struct finding *finding;
	unsigned j;

	note(w, i, check, SEVERITY_FAIL);
	finding = note(w, i, check, SEVERITY_FAIL);
	for (j = 0; j < w->policy.retest_times; j++)
		tested(w, i, finding, TEST_FAILED);
}

void world_hold(struct world *w, unsigned i)
{
	const struct fleet_cause cause = { .event = EVENT_HOLD,
					   .who = WHO_AUTOMATIC,
					   .why = "a test",
					   .until_us = w->now_us + w->policy.hold_ttl_us };

	CHECK_EQ(fleet_event(&w->fleet, world_node(w, i), &cause, w->now_us, NULL, NULL), 0);
}
